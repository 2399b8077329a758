// SPDX-License-Identifier: Apache-2.0
// In how many keys do two sets differ? A few hundred bytes of each give D = |A - B| + |B - A|.
//
// DESCRIPTION. Each side adds its keys, one of them sends its counters, the other subtracts its
// own: Estimate() is unbiased, whatever the sizes, with standard deviation sqrt(2 (D^2 - D) / m)
// for m counters: 6.3 % of D at m = 512, 8.8 % at m = 256; and exact for D = 0 and 1. It is the
// difference that it sees: for a small set beside a huge one use KMinimumValues. 2 ns a key.
//
// IMPLEMENTATION. A key adds +1 or -1 to one of m counters, both by its hash; D is estimated by
// the sum of the squares of the counters' differences. Sources: Alon, Matias, Szegedy, "The space
// complexity of approximating the frequency moments", 1996 (the sum of squares); Thorup, Zhang,
// "Tabulation based 4-universal hashing with applications to second moment estimation", 2004 (one
// counter per key is as good).
//
// Bytes: docs/formats/sketches.md. A width of less than the counters need is no loss as long as it
// holds their differences, which is all that counts: narrow counters for replicas. If a difference
// was too large for the width, the estimate is a lower bound of the right order at best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/format/byte_io.h"

namespace rocksieve {

class DifferenceEstimator {
 public:
  static constexpr size_t kMostCounters = 65536;
  static constexpr int kFullWidth = 32;

  // REQUIRES: 1 <= counters <= kMostCounters, the same on both sides.
  explicit DifferenceEstimator(size_t counters) : counters_(counters) {}

  // The hashes must be uniform: see HashForStep.
  void Add(uint64_t hash) {
    // No branch: nobody could foresee it.
    counters_[CounterOf(hash)] += static_cast<int32_t>(hash & 1) * 2 - 1;
  }

  // A width that is enough against any set that is not much larger, and against an empty one.
  int SufficientWidth() const;

  // REQUIRES: 3 <= width <= 32.
  void Write(int width, ByteWriter* out) const;
  // What came from the other side; false, with the reader failed, if it has not just as many
  // counters. Allocates nothing beyond them.
  bool Read(ByteReader* in);

  // REQUIRES: as many counters on both sides.
  static double Estimate(const DifferenceEstimator& a, const DifferenceEstimator& b);

 private:
  size_t CounterOf(uint64_t hash) const {
    return static_cast<size_t>(((hash >> 32) * counters_.size()) >> 32);
  }

  std::vector<int32_t> counters_;
  int width_ = kFullWidth;  // of what was read
};

}  // namespace rocksieve
