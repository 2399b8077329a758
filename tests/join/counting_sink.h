// SPDX-License-Identifier: Apache-2.0
// Counts rows, and otherwise forgets them.
#pragma once

#include <cstdint>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

struct RowCounts {
  uint64_t rows_of_client = 0, rows_of_server = 0;
  uint64_t key_bytes = 0, value_bytes = 0;
};

class CountingSink final : public Sink {
 public:
  absl::Status Add(const Row& row, Side from) override {
    (from == Side::kClient ? pending_.rows_of_client : pending_.rows_of_server)++;
    pending_.key_bytes += row.key.size();
    pending_.value_bytes += row.value.size();
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    committed_ = pending_;
    return absl::OkStatus();
  }
  absl::Status Discard() override {
    pending_ = committed_;
    return absl::OkStatus();
  }
  // Of what is committed.
  const RowCounts& counts() const { return committed_; }

 private:
  RowCounts committed_, pending_;
};

}  // namespace rocksieve::join
