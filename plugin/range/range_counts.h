// SPDX-License-Identifier: Apache-2.0
// What iterators asked the range filters of this process, counted.
//
// Of the process, not of a policy: the prefix extractor of a table, which alone sees a seek without
// an upper bound, does not know whose table it is.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <rocksieve/metrics.h>

namespace rocksieve {

enum class RangeEvent {
  kSeek,         // a seek came to a file with a range filter
  kBound,        // and had an upper bound
  kNegative,     // the filter has no key of the range
  kPositive,     // it may have one
  kNotProven,    // asked without a range that is known to be the caller's
  kOtherOrder,   // the filter knows no order: another comparator, or RocksDB before 7.4
  kBeginsAtEnd,  // the range ends where it begins, or before: RocksDB's own seeks
};

// Thread-safe. A thread adds to one of several lines of memory, which it shares with few others.
class RangeCounts {
 public:
  static void Count(RangeEvent event) {
    OfThisThread()[static_cast<size_t>(event)].fetch_add(1, std::memory_order_relaxed);
  }

  static RangeQueries Read();

 private:
  static constexpr size_t kEvents = 7;
  using Counts = std::array<std::atomic<uint64_t>, kEvents>;
  struct alignas(64) Line {
    Counts counts{};
  };

  static Counts& OfThisThread();
  static uint64_t Sum(RangeEvent event);

  static std::array<Line, 64> lines_;
};

}  // namespace rocksieve
