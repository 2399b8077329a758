// SPDX-License-Identifier: Apache-2.0
// What a filter of rocksieve.range consists of, and how likely it is to pass a range that is empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/filter.h>

namespace rocksieve {

// A part of a filter, for people and for models.
struct RangePart {
  std::string_view kind;  // "prefixes", "order", "keys"
  size_t depth = 0;       // bytes of a key that it knows; 0: all
  uint64_t entries = 0;
  uint64_t bytes = 0;
  bool is_exact = false;  // of an order: it passes no range of cells without a key
  double rate = 1;        // at which a cell, or key, is passed that is not there
};

// [begin, end), without a key, and the keys that are its neighbours. `before` may be cut behind the
// byte in which it differs from `begin`.
struct EmptyRange {
  std::string begin, end;
  std::string before, after;
};

// Of one filter block, whose bytes must outlive it. Thread-safe.
class RangeParts {
 public:
  // Without parts, if it is a filter of another family.
  explicit RangeParts(const FilterBlockInfo& info);

  const std::vector<RangePart>& parts() const { return parts_; }

  // The probability that the filter passes the range; 1 without parts. Where the range lies in a
  // cell that a key is in, the filter cannot know, so that it is passed.
  double PassRate(const EmptyRange& range) const;

 private:
  double PassRateOfPart(const RangePart& part, const EmptyRange& range) const;

  std::vector<RangePart> parts_;
  bool is_partition_ = false;
  std::string_view bound_, smallest_;
};

}  // namespace rocksieve
