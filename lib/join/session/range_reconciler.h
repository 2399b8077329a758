// Reconciles the opened ranges of an asking side, turn by turn, until they are settled.
#pragma once

#include <absl/status/status.h>

#include "lib/join/session/asking_context.h"

namespace rocksieve::join {

class RangeReconciler {
 public:
  // `context` must outlive it.
  explicit RangeReconciler(AskingContext* context) : context_(context) {}

  // Of a range that is Opening: the sides differ.
  absl::Status Begin(AskingTask* task, const Facts& facts);
  absl::Status Receive(const Turn& turn);

 private:
  OpenedRange Opened(const AskingTask& task, const Facts& facts) const;
  // Whether all ranges are expected to take no more bytes than are allowed.
  absl::Status CheckMostBytes(const AskingTask& task, const MatchingOptions& options) const;
  // Speaks if it is this side's turn, and settles the range if nothing is left to be said.
  absl::Status Continue(AskingTask* task);
  absl::Status Settle(AskingTask* task);
  void CountEnding(MoveKind ending);

  AskingContext* const context_;
};

}  // namespace rocksieve::join
