// SPDX-License-Identifier: Apache-2.0
// Takes what a join finds, range by range in key order.
#pragma once

#include <absl/status/status.h>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

enum class Side { kClient, kServer };

class Sink {
 public:
  virtual ~Sink() = default;
  // A row that belongs to the result; `from` says whose it is. The views are valid until it
  // returns.
  virtual absl::Status Add(const Row& row, Side from) = 0;
  // The rows added since the last of these calls are proven right.
  virtual absl::Status Commit() = 0;
  // They are not, and will come again.
  virtual absl::Status Discard() = 0;
};

// For results that may have to begin anew.
class ResultSink : public Sink {
 public:
  // Takes everything back, what was committed as well; FailedPrecondition if that cannot be, since
  // others have seen it.
  virtual absl::Status Restart() = 0;
};

}  // namespace rocksieve::join
