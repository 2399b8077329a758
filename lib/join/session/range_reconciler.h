// SPDX-License-Identifier: Apache-2.0
// Reconciles the opened ranges of a client, step by step, until they are reconciled.
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

  // Of a range that is Opening: the sides differ.
  absl::Status Begin(ClientRange* range, const Facts& facts);
  absl::Status Receive(Step step);
  // What other threads have done since.
  absl::Status TakeDone();
  // The same of one range, which is waited for.
  absl::Status WaitFor(uint64_t range);

 private:
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
};

}  // namespace rocksieve::join
