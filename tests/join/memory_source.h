// SPDX-License-Identifier: Apache-2.0
// A source of rows in memory.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

class MemorySource final : public Source {
 public:
  using Rows = std::vector<std::pair<std::string, std::string>>;

  // In any order. Equal keys keep theirs.
  explicit MemorySource(Rows rows) : rows_(std::move(rows)) {
    std::stable_sort(rows_.begin(), rows_.end(), KeyIsLess);
  }

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    return std::make_unique<RowsCursor>(FirstNotBelow(interval.begin),
                                        interval.end ? FirstNotBelow(*interval.end) : rows_.cend());
  }
  uint64_t EstimateKeys() override { return rows_.size(); }

 private:
  class RowsCursor final : public Cursor {
   public:
    RowsCursor(Rows::const_iterator begin, Rows::const_iterator end) : next_(begin), end_(end) {}
    bool Next(Row* row) override {
      if (next_ == end_) return false;
      *row = {next_->first, next_->second};
      ++next_;
      return true;
    }
    absl::Status status() const override { return absl::OkStatus(); }

   private:
    Rows::const_iterator next_;
    const Rows::const_iterator end_;
  };

  static bool KeyIsLess(const Rows::value_type& a, const Rows::value_type& b) {
    return a.first < b.first;
  }
  Rows::const_iterator FirstNotBelow(const std::string& key) const {
    return std::lower_bound(rows_.cbegin(), rows_.cend(), Rows::value_type(key, ""), KeyIsLess);
  }

  Rows rows_;
};

}  // namespace rocksieve::join
