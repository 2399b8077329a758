// SPDX-License-Identifier: Apache-2.0
// Opens the ranges of a client: scans its keys in each, says what they are, and takes the other
// side's word for its own.
#pragma once

#include <cstdint>
#include <string>

#include <absl/status/status.h>

#include "lib/join/session/client_ranges.h"
#include "lib/join/session/range_reconciler.h"

namespace rocksieve::join {

class RangeOpener {
 public:
  // Both must outlive it.
  RangeOpener(ClientState* context, RangeReconciler* reconciler)
      : context_(context), reconciler_(reconciler) {}

  // After the answer to the hello, and before anything else.
  void Begin();
  // Opens a range, if there is one to open and a place for it.
  absl::Status OpenNext();
  // The answer: the range is reconciled from now on, is equal, or opened again.
  absl::Status Receive(const Facts& facts);

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

  ClientState* const context_;
  RangeReconciler* const reconciler_;
  uint64_t keys_per_range_ = 0;
};

}  // namespace rocksieve::join
