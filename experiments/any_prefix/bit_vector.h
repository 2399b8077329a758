// SPDX-License-Identifier: Apache-2.0
// Bits with rank and select, and numbers of a fixed width: what succinct structures are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocksieve::experiments {

class BitVector {
 public:
  void Append(bool bit);
  // Must be called after the last Append(), before anything else.
  void Finish();

  bool Get(uint64_t at) const { return (words_[at / 64] >> at % 64 & 1) != 0; }
  // Ones, or zeros, before `at`.
  uint64_t Rank(uint64_t at) const;
  uint64_t RankZero(uint64_t at) const { return at - Rank(at); }
  // Where the index-th one, or zero, is, from 0. size() if there is none.
  uint64_t Select(uint64_t index) const;
  uint64_t SelectZero(uint64_t index) const;
  uint64_t size() const { return size_; }
  // With a count for each 512 bits.
  uint64_t size_bits() const { return size_ + 32 * counts_.size(); }

 private:
  template <bool kBit>
  uint64_t SelectBit(uint64_t index) const;

  std::vector<uint64_t> words_;
  std::vector<uint32_t> counts_;  // ones before each 512 bits
  uint64_t size_ = 0;
};

class PackedNumbers {
 public:
  explicit PackedNumbers(int width = 0) : width_(width) {}
  void Append(uint64_t number);  // its lowest bits
  uint64_t Get(uint64_t index) const;
  uint64_t size_bits() const { return bits_; }

 private:
  int width_;
  uint64_t bits_ = 0;
  std::vector<uint64_t> words_;
};

// A sorted set of numbers below a bound: P. Elias, "Efficient storage and retrieval by content and
// address of static files", 1974; R. Fano, 1971.
class EliasFano {
 public:
  EliasFano() = default;
  // REQUIRES: sorted, distinct, below `universe`, not empty.
  EliasFano(const std::vector<uint64_t>& numbers, uint64_t universe);

  // Whether one lies in [first, last].
  bool AnyBetween(uint64_t first, uint64_t last) const;
  uint64_t size_bits() const { return high_.size_bits() + low_.size_bits(); }
  static double BitsFor(double count, double universe);

 private:
  int low_bits_ = 0;
  BitVector high_;
  PackedNumbers low_;
  uint64_t size_ = 0;
};

}  // namespace rocksieve::experiments
