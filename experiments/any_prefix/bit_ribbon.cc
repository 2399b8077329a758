// SPDX-License-Identifier: Apache-2.0
#include "experiments/any_prefix/bit_ribbon.h"

#include <algorithm>

#include "lib/hash/mix.h"

namespace rocksieve::experiments {
namespace {

using Row = unsigned __int128;

constexpr uint64_t kFreeBits = 1970;  // a seed

// Each bit of a hash has an equation of its own, elsewhere: side by side they would crowd.
uint64_t HashOfBit(uint64_t hash, uint32_t bit) { return SplitMix64(hash, bit); }

// The lowest bit is set.
Row CoefficientsOf(uint64_t hash_of_bit) {
  const uint64_t low = Mix64(hash_of_bit), high = Mix64(~hash_of_bit);
  return static_cast<Row>(high) << 64 | (low | 1);
}

uint32_t Parity(Row row) {
  return static_cast<uint32_t>(
      __builtin_parityll(static_cast<uint64_t>(row) ^ static_cast<uint64_t>(row >> 64)));
}

int TrailingZeros(Row row) {
  const auto low = static_cast<uint64_t>(row);
  return low != 0 ? __builtin_ctzll(low) : 64 + __builtin_ctzll(static_cast<uint64_t>(row >> 64));
}

Row WindowOf(const std::vector<uint64_t>& words, uint64_t at) {
  const uint64_t word = at / 64;
  const int shift = static_cast<int>(at % 64);
  const Row low = static_cast<Row>(words[word + 1]) << 64 | words[word];
  return shift == 0 ? low : low >> shift | static_cast<Row>(words[word + 2]) << (128 - shift);
}

}  // namespace

uint64_t BitRibbon::StartOf(uint64_t hash) const {
  return static_cast<uint64_t>((static_cast<Row>(hash) * slots_) >> 64);
}

std::vector<BitRibbon::Entry> BitRibbon::Build(const std::vector<Entry>& entries, double spare) {
  uint64_t equations = 0;
  for (const Entry& entry : entries) equations += entry.bits;
  slots_ =
      std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<double>(equations) * (1 + spare)));
  struct Equation {
    uint64_t hash;
    uint32_t entry;
    bool value;
  };
  std::vector<Equation> sorted;  // in the order of their places, which saves most of the time
  for (uint32_t i = 0; i < entries.size(); i++) {
    for (uint32_t bit = 0; bit < entries[i].bits; bit++) {
      sorted.push_back({HashOfBit(entries[i].hash, bit), i, (entries[i].value >> bit & 1) != 0});
    }
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Equation& a, const Equation& b) { return a.hash < b.hash; });
  const uint64_t size = slots_ + 128;
  std::vector<Row> rows(size);  // 0: none. That at slot i begins there.
  std::vector<bool> values(size);
  std::vector<bool> is_lost(entries.size());
  for (const Equation& equation : sorted) {
    uint64_t at = StartOf(equation.hash);
    Row row = CoefficientsOf(equation.hash);
    bool value = equation.value;
    while (rows[at] != 0) {
      row ^= rows[at];
      value = value != values[at];
      if (row == 0) break;
      const int zeros = TrailingZeros(row);
      row >>= zeros;
      at += static_cast<uint64_t>(zeros);
    }
    if (row != 0) {
      rows[at] = row;
      values[at] = value;
    } else if (value) {
      is_lost[equation.entry] = true;
    }
  }
  solution_.assign(size / 64 + 4, 0);
  for (uint64_t at = size; at-- > 0;) {
    bool bit = (SplitMix64(kFreeBits, at) & 1) != 0;
    if (rows[at] != 0) {
      bit = (Parity(rows[at] & ~Row{1} & WindowOf(solution_, at)) != 0) != values[at];
    }
    solution_[at / 64] |= static_cast<uint64_t>(bit) << at % 64;
  }
  std::vector<Entry> lost;
  for (size_t i = 0; i < entries.size(); i++) {
    if (is_lost[i]) lost.push_back(entries[i]);
  }
  return lost;
}

uint32_t BitRibbon::Get(uint64_t hash, uint32_t bits) const {
  uint32_t value = 0;
  for (uint32_t bit = 0; bit < bits; bit++) value |= GetBit(hash, bit) << bit;
  return value;
}

bool BitRibbon::AreZero(uint64_t hash, uint32_t bits) const {
  for (uint32_t bit = 0; bit < bits; bit++) {
    if (GetBit(hash, bit) != 0) return false;
  }
  return true;
}

uint32_t BitRibbon::GetBit(uint64_t hash, uint32_t bit) const {
  const uint64_t hash_of_bit = HashOfBit(hash, bit);
  return Parity(WindowOf(solution_, StartOf(hash_of_bit)) & CoefficientsOf(hash_of_bit));
}

}  // namespace rocksieve::experiments
