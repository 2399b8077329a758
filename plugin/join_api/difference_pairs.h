// SPDX-License-Identifier: Apache-2.0
// Rows that a symmetric join of whole rows gives, by key: a row that both sides have with different
// values comes as two.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <rocksieve/join/diff.h>

#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"

namespace rocksieve::join {

// The views are valid until the function that got them returns.
struct DifferencePair {
  struct Side {
    std::string_view value;
    std::string_view digest;  // of the value, whether that came along or not
  };

  std::string_view key;
  std::optional<Side> local, remote;  // at least one

  Difference difference() const {
    if (!remote) return Difference::kLocalOnly;
    return local ? Difference::kChanged : Difference::kRemoteOnly;
  }
};

class DifferencePairs {
 public:
  using Take = std::function<absl::Status(const DifferencePair& pair)>;

  explicit DifferencePairs(Take take) : take_(std::move(take)) {}

  // In the order of the join keys (lib/join/join_key/whole_row.h); each with its value.
  absl::Status Add(const Row& row, Side from);
  // After the last one.
  absl::Status Finish();
  // After all that have keys before this one.
  absl::Status FinishBefore(std::string_view key) {
    return kept_ && kept_->key < key ? Finish() : absl::OkStatus();
  }

 private:
  struct Kept {
    std::string key, value, digest;
    Side from = Side::kClient;
  };

  const Take take_;
  std::string key_;
  std::optional<Kept> kept_;  // the other side's may follow
};

}  // namespace rocksieve::join
