// SPDX-License-Identifier: Apache-2.0
// Reconciles the opened ranges of a client, step by step, until they are reconciled.
#pragma once

#include <absl/status/status.h>

#include "lib/join/session/client_state.h"

namespace rocksieve::join {

class RangeReconciler {
 public:
  // `context` must outlive it.
  explicit RangeReconciler(ClientState* context) : context_(context) {}

  // Of a range that is Opening: the sides differ.
  absl::Status Begin(ClientRange* range, const Facts& facts);
  absl::Status Receive(const Step& step);

 private:
  OpenedRange Opened(const ClientRange& range, const Facts& facts) const;
  // Whether all ranges are expected to take no more bytes than are allowed.
  absl::Status CheckMostBytes(const ClientRange& range, const MatchingOptions& options) const;
  // Speaks if it is this side's turn, and reconciles the range if nothing is left to be said.
  absl::Status Continue(ClientRange* range);
  absl::Status Speak(ClientRange* range);
  absl::Status Finish(ClientRange* range);
  void CountEnding(Part ending);

  ClientState* const context_;
};

}  // namespace rocksieve::join
