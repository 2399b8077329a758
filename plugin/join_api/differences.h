// SPDX-License-Identifier: Apache-2.0
// The rows that a comparison finds.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <rocksieve/join/diff.h>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

// A row that differs, of one side or both. The views are valid until the function that got them
// returns.
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

// Makes pairs of the rows that a symmetric join of whole rows gives: one that both sides have with
// different values comes as two.
class DifferencePairs final : public Sink {
 public:
  using Take = std::function<absl::Status(const DifferencePair& pair)>;

  explicit DifferencePairs(Take take) : take_(std::move(take)) {}

  // In the order of the join keys (lib/join/join_key/join_key_source.h); each with its value.
  absl::Status Add(const Row& row, Side from) override;
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Discard() override { return absl::OkStatus(); }
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

// Rows that differed, and what became of them at later looks.
//
// A look compares some rows again, of both sides as they are then. A row that differs at each of
// them, and by the same two values, has diverged; any other one was being written. No row is said
// to have diverged that was not looked at again.
class Recheck {
 public:
  explicit Recheck(size_t most_rows) : most_rows_(most_rows) {}

  // The first look, in the order of the rows.
  void Add(const DifferencePair& pair);

  // Those that may have diverged, each by its key.
  std::vector<KeyInterval> Suspects() const;
  // A later look, of the suspects: between the two calls, those that differ, in their order.
  void BeginLook();
  void Look(const DifferencePair& pair);
  void EndLook();

  // Of the row that came so many rows after the first one.
  Verdict VerdictOf(size_t row) const;

 private:
  struct Seen {
    std::string key;
    std::optional<std::string> local, remote;  // digests
    bool suspect = true, differs = false;      // at the look under way
  };

  const size_t most_rows_;
  std::vector<Seen> rows_;
  size_t next_ = 0;  // at the look under way
  size_t looks_ = 0;
};

}  // namespace rocksieve::join
