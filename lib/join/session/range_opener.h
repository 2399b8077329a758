// Opens the ranges of an asking side: scans its keys in each, says what they are, and takes the
// other side's word for its own.
#pragma once

#include <cstdint>
#include <string>

#include <absl/status/status.h>

#include "lib/join/session/asking_context.h"
#include "lib/join/session/range_reconciler.h"

namespace rocksieve::join {

class RangeOpener {
 public:
  // Both must outlive it.
  RangeOpener(AskingContext* context, RangeReconciler* reconciler)
      : context_(context), reconciler_(reconciler) {}

  // After the answer to the hello, and before anything else.
  void Begin();
  // Opens a range, if there is one to open and a place for it.
  absl::Status OpenNext();
  // The answer: the range is reconciled from now on, settled, or opened again.
  absl::Status Receive(const Facts& facts);

 private:
  absl::Status Open(AskingTask* task, bool ends_at_rest);
  absl::Status Scan(AskingTask* task, const ReadyUse& ready);
  ReadyUse ReadyUseFor(const AskingTask& task) const;
  bool AnsweringSideBegins(const AskingTask& task, const ReadyUse& ready) const;
  absl::Status CheckCounts(const AskingTask& task, const Facts& facts) const;
  // The answering side held its keys against the filters that this side says that it sent.
  bool PrunedRightly(const AskingTask& task, const Pruning& pruning) const;
  // It has more keys than it can keep.
  absl::Status Cut(AskingTask* task, const std::string& next_key);
  absl::Status SettleEqual(AskingTask* task);

  AskingContext* const context_;
  RangeReconciler* const reconciler_;
  uint64_t keys_per_range_ = 0;
};

}  // namespace rocksieve::join
