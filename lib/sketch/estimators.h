// SPDX-License-Identifier: Apache-2.0
// In how many keys do two sets differ? A few hundred bytes of each give D = |A - B| + |B - A|.
//
// DESCRIPTION. Each side adds its keys, one of them sends its counters, the other subtracts its
// own: Estimate() is unbiased, whatever the sizes, with standard deviation sqrt(2 (D^2 - D) / m)
// for m counters: 6.3 % of D at m = 512, 8.8 % at m = 256; and exact for D = 0 and 1. It is the
// difference that it sees: for a small set beside a huge one use KmvSketch instead. 2 ns a key.
//
// IMPLEMENTATION. A key adds +1 or -1 to one of m counters, both by its hash; D is estimated by
// the sum of the squares of the counters' differences. Sources: Alon, Matias, Szegedy, "The space
// complexity of approximating the frequency moments", 1996 (the sum of squares); Thorup, Zhang,
// "Tabulation based 4-universal hashing with applications to second moment estimation", 2004 (one
// counter per key is as good).
//
//   counters   varint, 1 .. 65536
//   width      u8, 3 .. 32: bits per counter
//   bits       each counter modulo 2^width, in order
//
// A width of less than the counters need is no loss as long as it holds their differences, which
// is all that counts: narrow counters for replicas. If a difference was too large for the width,
// the estimate says so (`saturated`), and is then a lower bound of the right order at best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <rocksieve/estimate/estimate.h>

#include "lib/format/byte_io.h"

namespace rocksieve {

struct DifferenceEstimate {
  double differences = 0;
  double standard_error = 0;
  bool saturated = false;  // ask again with wider counters
};

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
  void Add(std::span<const uint64_t> hashes) {
    for (uint64_t hash : hashes) Add(hash);
  }

  // A width that is enough against any set that is not much larger, and against an empty one.
  int SufficientWidth() const;
  // The smallest width at which `differences` keys do not saturate the estimate.
  static int WidthFor(double differences, size_t counters);

  // REQUIRES: 3 <= width <= 32.
  void Write(int width, ByteWriter* out) const;
  // What came from the other side; false, with the reader failed, if it has not just as many
  // counters. Allocates nothing beyond them.
  bool Read(ByteReader* in);

  // REQUIRES: as many counters on both sides.
  static DifferenceEstimate Estimate(const DifferenceEstimator& a, const DifferenceEstimator& b);

 private:
  size_t CounterOf(uint64_t hash) const {
    return static_cast<size_t>(((hash >> 32) * counters_.size()) >> 32);
  }

  std::vector<int32_t> counters_;
  int width_ = kFullWidth;  // of what was read
};

// How large are two sets, and how much do they share? From the k smallest hashes of each.
//
// DESCRIPTION. Add the keys' hashes, in any order and as often as you like: duplicates count once.
// Sketches of parts merge into the sketch of their union. Sets of fewer than k keys are kept whole:
// then everything is exact. Otherwise a number N of keys (distinct, in both, in either) is known
// with standard error sqrt(N (1 - t) / t), t being the share of all hashes that the sketches
// cover, about k / (keys of the larger set): 3 % of the larger set's size at k = 1024, however
// small the number is. For sets of very different size that says little about the smaller one; for
// nearly equal ones DifferenceEstimator is better. 1.5 ns per key, 16 bytes times k.
//
// IMPLEMENTATION. Let t be the k-th smallest hash as a fraction of 2^64, or 1 while there are
// fewer; of two sketches, the smaller of the two. The s hashes below t are a sample with
// probability t of each key, so s / t estimates the number of keys, without bias, and so for those
// in both. Sources: Bar-Yossef et al., "Counting distinct elements in a data stream", 2002; Beyer
// et al., "On synopses for distinct-value estimation", 2007; Dasgupta, Lang, Rhodes, Thaler, "A
// framework for estimating stream expression cardinalities", 2016 (the common threshold).
//
// The public face, with keys instead of hashes: rocksieve/estimate/k_minimum_values.h.
//
//   k          varint, 3 .. 1048576
//   shift      u8, 0 .. 63
//   values     the hashes >> shift, sorted (format/bit_coder.h), at most k
//
// Rounded to `precision` bits below their mean gap the hashes cost about precision + 2 bits each,
// and one in 2^precision may be taken for another: 1.8 KB instead of 5.8 at k = 1024, precision 12.

class KmvSketch {
 public:
  static constexpr size_t kLeastK = 3, kMostK = 1 << 20;
  static constexpr int kFullPrecision = 64;

  // REQUIRES: kLeastK <= k <= kMostK.
  explicit KmvSketch(size_t k) : k_(k) {}

  // The hashes must be uniform, and the same function of the key everywhere.
  void Add(uint64_t hash) {
    if (hash >= limit_) return;
    values_.push_back(hash);
    if (values_.size() >= 2 * k_) Compact();
  }
  void Add(std::span<const uint64_t> hashes) {
    for (uint64_t hash : hashes) Add(hash);
  }
  // The smaller k of the two is the result's.
  void Merge(const KmvSketch& other);

  Estimate DistinctCount() const;
  static OverlapEstimate Overlap(const KmvSketch& a, const KmvSketch& b);

  // REQUIRES: 1 <= precision_bits <= 64; 64 writes all of each hash.
  void Write(int precision_bits, ByteWriter* out) const;
  // False, with the reader failed, if it is damaged or of a k above most_k.
  bool Read(ByteReader* in, size_t most_k);

  size_t k() const { return k_; }
  size_t MemoryBytes() const { return sizeof(*this) + values_.capacity() * sizeof(uint64_t); }

 private:
  // The distinct smallest hashes in order, at most k, and what lies below the threshold.
  std::vector<uint64_t> Sorted(int shift) const;
  uint64_t Threshold(const std::vector<uint64_t>& sorted) const;
  void Compact();

  size_t k_;
  int shift_ = 0;                 // low bits that were lost on the wire, and are 0
  uint64_t limit_ = UINT64_MAX;   // hashes from here on cannot be among the k smallest
  std::vector<uint64_t> values_;  // in no order, with duplicates, fewer than 2 k
};

}  // namespace rocksieve
