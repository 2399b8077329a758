// Counts the rows of a result since it last began anew.
#pragma once

#include <absl/status/status.h>

#include "lib/transport/remote_join.h"

namespace rocksieve::join {

class CountingResults final : public ResultSink {
 public:
  absl::Status Add(const Row&, Side) override { return rows++, absl::OkStatus(); }
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Discard() override { return absl::OkStatus(); }
  absl::Status Restart() override { return rows = 0, absl::OkStatus(); }
  int rows = 0;
};

}  // namespace rocksieve::join
