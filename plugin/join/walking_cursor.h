// SPDX-License-Identifier: Apache-2.0
// A scan that walks as far as it can, and goes on with RocksDB's iterator.
//
// A damaged block is an error at once: RocksDB before 8.3.3 leaves out all rows of a file whose
// first block is damaged, without a word, where it comes to the file in the course of a scan
// (MergingIterator::SkipNextDeleted() does not ask for the status).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "lib/join/rows/source.h"
#include "plugin/join/comparable_value.h"
#include "plugin/join/status.h"
#include "plugin/join/tree_walk.h"

namespace rocksieve::join {

class WalkingCursor final : public Cursor {
 public:
  // `doing` as FromRocksDb() has it. `scan` gives the rows of an interval otherwise.
  // `tell` is told why, if that is needed. The tree must outlive the cursor.
  WalkingCursor(WalkedTree* tree, KeyInterval interval, RowValues values, std::string doing,
                std::function<std::unique_ptr<Cursor>(KeyInterval)> scan,
                std::function<void(std::string why)> tell)
      : interval_(std::move(interval)),
        values_(values),
        doing_(std::move(doing)),
        scan_(std::move(scan)),
        tell_(std::move(tell)),
        walk_(std::make_unique<TreeWalk>(tree, interval_)) {}

  bool Next(Row* row) override {
    if (others_ != nullptr) return others_->Next(row);
    if (!status_.ok()) return false;
    if (!walk_->Next(row)) return !walk_->status().ok() && GoOn() && others_->Next(row);
    if (values_ == RowValues::kComparable) row->value = ComparableValue(row->value, &comparable_);
    return true;
  }

  absl::Status status() const override { return others_ == nullptr ? status_ : others_->status(); }

 private:
  // False if it must not.
  bool GoOn() {
    if (walk_->status().IsCorruption()) {
      status_ = FromRocksDb(walk_->status(), doing_);
      return false;
    }
    tell_(walk_->status().ToString());
    KeyInterval rest = interval_;
    if (const auto decided = walk_->decided()) rest.begin = std::string(*decided) + '\0';
    walk_.reset();
    others_ = scan_(std::move(rest));
    return true;
  }

  const KeyInterval interval_;
  const RowValues values_;
  const std::string doing_;
  const std::function<std::unique_ptr<Cursor>(KeyInterval)> scan_;
  const std::function<void(std::string why)> tell_;
  std::unique_ptr<TreeWalk> walk_;
  std::unique_ptr<Cursor> others_;  // when the walk has ended early
  absl::Status status_;
  std::string comparable_;
};

}  // namespace rocksieve::join
