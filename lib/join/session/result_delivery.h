// SPDX-License-Identifier: Apache-2.0
// Brings the results of reconciled ranges to the sink of a client, in key order: asks for the rows
// of the other side that belong to them, and proves what comes.
#pragma once

#include <absl/status/status.h>

#include "lib/join/session/client_ranges.h"

namespace rocksieve::join {

class ResultDelivery {
 public:
  // `context` must outlive it.
  explicit ResultDelivery(ClientState* context) : context_(context) {}

  // Asks for rows of the first reconciled ranges; makes their results, if no rows are needed.
  absl::Status Advance();
  // Rows of a range. The range is done with the last ones, or repeated if they contradict what was
  // reconciled.
  absl::Status Receive(const Rows& rows);

 private:
  void BeginFetching(ClientRange* range);
  absl::Status IgnoreRows(ClientRange* range, const Rows& rows) const;
  // Gives the first range's result to the sink.
  absl::Status FinishFirst();
  absl::Status DiscardAndRepeat(ClientRange* range, const absl::Status& why);
  void Report(ClientRange* range);

  ClientState* const context_;
};

}  // namespace rocksieve::join
