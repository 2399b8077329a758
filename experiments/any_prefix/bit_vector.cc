// SPDX-License-Identifier: Apache-2.0
#include "experiments/any_prefix/bit_vector.h"

#include <algorithm>
#include <cmath>

namespace rocksieve::experiments {
namespace {

constexpr uint64_t kPerCount = 512;

int LowBits(double count, double universe) {
  return std::max(0, static_cast<int>(std::floor(std::log2(std::max(1.0, universe / count)))));
}

}  // namespace

void BitVector::Append(bool bit) {
  if (size_ % 64 == 0) words_.push_back(0);
  words_.back() |= static_cast<uint64_t>(bit) << size_ % 64;
  size_++;
}

void BitVector::Finish() {
  uint32_t ones = 0;
  words_.push_back(0);
  for (size_t i = 0; i < words_.size(); i++) {
    if (i % (kPerCount / 64) == 0) counts_.push_back(ones);
    ones += static_cast<uint32_t>(__builtin_popcountll(words_[i]));
  }
}

uint64_t BitVector::Rank(uint64_t at) const {
  uint64_t rank = counts_[at / kPerCount];
  for (uint64_t i = at / kPerCount * (kPerCount / 64); i < at / 64; i++) {
    rank += static_cast<uint64_t>(__builtin_popcountll(words_[i]));
  }
  return rank + static_cast<uint64_t>(
                    __builtin_popcountll(words_[at / 64] & ((uint64_t{1} << at % 64) - 1)));
}

template <bool kBit>
uint64_t BitVector::SelectBit(uint64_t index) const {
  const auto before = [&](uint64_t group) {
    return kBit ? counts_[group] : group * kPerCount - counts_[group];
  };
  uint64_t low = 0, high = counts_.size();
  while (low + 1 < high) {
    const uint64_t middle = (low + high) / 2;
    (before(middle) <= index ? low : high) = middle;
  }
  uint64_t left = index - before(low);
  for (uint64_t i = low * (kPerCount / 64); i < words_.size(); i++) {
    uint64_t word = kBit ? words_[i] : ~words_[i];
    const auto ones = static_cast<uint64_t>(__builtin_popcountll(word));
    if (left >= ones) {
      left -= ones;
      continue;
    }
    for (; left > 0; left--) word &= word - 1;
    return std::min(size_, 64 * i + static_cast<uint64_t>(__builtin_ctzll(word)));
  }
  return size_;
}

uint64_t BitVector::Select(uint64_t index) const { return SelectBit<true>(index); }
uint64_t BitVector::SelectZero(uint64_t index) const { return SelectBit<false>(index); }

void PackedNumbers::Append(uint64_t number) {
  for (int bit = 0; bit < width_; bit++, bits_++) {
    if (bits_ % 64 == 0) words_.push_back(0);
    words_.back() |= (number >> bit & 1) << bits_ % 64;
  }
}

uint64_t PackedNumbers::Get(uint64_t index) const {
  if (width_ == 0) return 0;
  const uint64_t at = index * static_cast<uint64_t>(width_), shift = at % 64;
  uint64_t number = words_[at / 64] >> shift;
  if (shift + static_cast<uint64_t>(width_) > 64) number |= words_[at / 64 + 1] << (64 - shift);
  return number & ((uint64_t{1} << width_) - 1);
}

EliasFano::EliasFano(const std::vector<uint64_t>& numbers, uint64_t universe)
    : low_bits_(LowBits(static_cast<double>(numbers.size()), static_cast<double>(universe))),
      low_(low_bits_),
      size_(numbers.size()) {
  uint64_t high = 0;
  for (const uint64_t number : numbers) {
    for (; high < number >> low_bits_; high++) high_.Append(false);
    high_.Append(true);
    low_.Append(number);
  }
  for (; high <= universe >> low_bits_; high++) high_.Append(false);
  high_.Finish();
}

bool EliasFano::AnyBetween(uint64_t first, uint64_t last) const {
  const uint64_t high = first >> low_bits_;
  uint64_t at = high == 0 ? 0 : high_.SelectZero(high - 1) + 1;
  for (uint64_t index = at - high; index < size_; at++) {
    if (!high_.Get(at)) continue;
    const uint64_t number = high_.RankZero(at) << low_bits_ | low_.Get(index++);
    if (number >= first) return number <= last;
  }
  return false;
}

double EliasFano::BitsFor(double count, double universe) {
  const int low = LowBits(count, universe);
  return count * low + (count + std::exp2(std::log2(universe) - low)) * (1 + 32.0 / kPerCount);
}

}  // namespace rocksieve::experiments
