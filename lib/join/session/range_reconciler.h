// SPDX-License-Identifier: Apache-2.0
// Opens the ranges of a client: scans its keys in each, says what they are, and takes the other
// side's word for its own. Then reconciles them, step by step, until they are reconciled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <absl/status/status.h>

#include "lib/join/session/client_ranges.h"

namespace rocksieve::join {

class RangeReconciler {
 public:
  // `context` must outlive it.
  explicit RangeReconciler(ClientState* context) : context_(context) {}

  // After the answer to the hello, and before anything else.
  void BeginOpening();
  // Opens a range, if there is one to open and a place for it.
  absl::Status OpenNext();
  // The answer: the range is reconciled from now on, is equal, or opened again.
  absl::Status Receive(const Facts& facts);
  absl::Status Receive(Step step);
  // What other threads have done since.
  absl::Status TakeDone();
  // The same of one range, which is waited for.
  absl::Status WaitFor(uint64_t range);

 private:
  absl::Status Open(ClientRange* range, bool ends_at_rest);
  absl::Status Scan(ClientRange* range, const ExistingFilterUse& existing);
  ExistingFilterUse ExistingFilterUseFor(const ClientRange& range) const;
  bool ServerBegins(const ClientRange& range, const ExistingFilterUse& existing) const;
  absl::Status CheckCounts(const ClientRange& range, const Facts& facts) const;
  // The server held its keys against the filters that this side says that it sent.
  bool PrunedRightly(const ClientRange& range, const Pruning& pruning) const;
  // It has more keys than it can keep.
  absl::Status Cut(ClientRange* range, const std::string& next_key);
  absl::Status TakeAsEqual(ClientRange* range);
  // Of a range that is Opening: the sides differ.
  absl::Status Begin(ClientRange* range, const Facts& facts);
  OpenedRange Opened(const ClientRange& range, const Facts& facts) const;
  // Whether all ranges are expected to take no more bytes than are allowed.
  absl::Status CheckMostBytes(const ClientRange& range, const MatchingOptions& options) const;
  // Hears, if something was heard, and speaks, if it is this side's turn.
  absl::Status Continue(ClientRange* range, std::optional<std::string> heard);
  // Says what was computed, and reconciles the range if nothing is left to be said.
  absl::Status Take(RangeTurns::Done done);
  absl::Status Finish(ClientRange* range);
  void CountEnding(Part ending);

  ClientState* const context_;
  uint64_t keys_per_range_ = 0;
  size_t ranges_ahead_ = 0;  // at most that of the options
};

}  // namespace rocksieve::join
