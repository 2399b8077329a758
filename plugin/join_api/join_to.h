// SPDX-License-Identifier: Apache-2.0
// What all joins that programs ask for go through.
#pragma once

#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <rocksieve/join/join.h>

#include "lib/join/operation.h"
#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"
#include "lib/transport/cancellation.h"
#include "plugin/join_api/input_impl.h"

namespace rocksieve::join {

struct JoinedParts {
  std::vector<KeyInterval> intervals;  // as ClientSessionOptions has them
  bool describe = false;               // ServerReport::column_families is wanted
  Comparison comparison = Comparison::kNone;
  // The server keeps the state of its database, and says under which name; null: it need not.
  std::string* kept = nullptr;
  // Empty: of rows of the server's state. Else of those that may have changed since that one.
  std::string since = {};
};

// Rows come as the sources have them: see UnpackingResultSink. `report` may be null.
absl::Status JoinTo(Operation operation, const Input& input, const Peer& peer,
                    const JoinOptions& options, const JoinedParts& parts, ResultSink* rows,
                    JoinReport* report);

// Calls `work` with what ends when the time of the options is over or the join is cancelled.
absl::Status UntilCancelled(const JoinOptions& options,
                            absl::FunctionRef<absl::Status(Cancellation* cancellation)> work);

}  // namespace rocksieve::join
