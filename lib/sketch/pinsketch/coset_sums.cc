// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/coset_sums.h"

#include <algorithm>
#include <bit>

namespace rocksieve::pinsketch {
namespace {

constexpr size_t kMostPowers = std::bit_ceil(size_t{2} * kMostLevels);
constexpr size_t kMostPowerBits = std::countr_zero(kMostPowers);

}  // namespace

void CosetSums::MakeMultiplication(uint32_t factor, LinearMap* map) const {
  uint32_t images[Field::kMostBits];
  const auto bits = static_cast<size_t>(field_.bits());
  for (size_t i = 0; i < bits; i++) images[i] = field_.Multiply(factor, uint32_t{1} << i);
  map->Make(std::span(images, bits));
}

uint64_t CosetSums::MemoryFor(int field_bits, int levels) {
  const uint64_t cosets = uint64_t{1} << (field_bits - kLowBits);
  return (kLow + cosets * kGroupsAtOnce) * VectorsFor(levels) * sizeof(Vector) +
         cosets * kGroupsAtOnce + (kMostPowerBits + 1) * sizeof(LinearMap);
}

CosetSums::CosetSums(const Field& field, int levels)
    : field_(field),
      levels_(static_cast<size_t>(levels)),
      vectors_(VectorsFor(levels)),
      cosets_(uint32_t{1} << (field.bits() - kLowBits)),
      rows_(kLow * vectors_),
      sums_(cosets_ * kGroupsAtOnce * vectors_),
      parity_(cosets_ * kGroupsAtOnce),
      maps_(kMostPowerBits + 1) {
  for (uint32_t v = 1; v < kLow; v++) {
    const uint32_t step = field.ReduceOnce(2 * field.Log(v));
    uint32_t log = field.Log(v);
    for (size_t level = 0; level < levels_; level++) {
      rows_[v * vectors_ + level / 4][level % 4] = field.Exp(log);
      log = field.ReduceOnce(log + step);
    }
  }
  uint32_t squares[Field::kMostBits];
  const auto bits = static_cast<size_t>(field.bits());
  for (size_t i = 0; i < bits; i++) {
    squares[i] = field.Multiply(uint32_t{1} << i, uint32_t{1} << i);
  }
  maps_[0].Make(std::span(squares, bits));
}

void CosetSums::AddAll(const CellTable& cells, std::span<uint32_t> sums,
                       std::span<uint32_t> checks) {
  for (uint32_t begin = 0; begin < cells.groups(); begin += kGroupsAtOnce) {
    const auto end =
        static_cast<uint32_t>(std::min<size_t>(cells.groups(), size_t{begin} + kGroupsAtOnce));
    SumByCoset(cells, begin, end, checks);
    for (uint32_t upper = 0; upper < cosets_; upper++) {
      AddCoset(upper, end - begin, &sums[begin * levels_]);
    }
  }
}

void CosetSums::SumByCoset(const CellTable& cells, uint32_t begin, uint32_t end,
                           std::span<uint32_t> checks) {
  std::fill(sums_.begin(), sums_.end(), Vector{});
  std::fill(parity_.begin(), parity_.end(), 0);
  for (uint32_t group = begin; group < end; group++) {
    uint32_t check = 0;
    for (const CellEntry& entry : cells.Group(group)) {
      check ^= CellCheck(group, entry.id);
      const size_t coset = CosetOf(entry.id >> kLowBits, group - begin);
      Vector* const sum = &sums_[coset * vectors_];
      const Vector* const row = &rows_[(entry.id & (kLow - 1)) * vectors_];
      for (size_t i = 0; i < vectors_; i++) sum[i] ^= row[i];
      parity_[coset] ^= 1;
    }
    checks[group / kGroupsPerCheck] ^= check;
  }
}

// What the keys of these groups with u = upper * 2^kLowBits add.
void CosetSums::AddCoset(uint32_t upper, uint32_t groups, uint32_t* sums) {
  const size_t powers = 2 * levels_;
  uint32_t factor = upper << kLowBits;
  size_t factors = 0;  // of u = 0 nothing follows but V itself
  for (; upper != 0 && size_t{1} << factors < powers; factors++) {
    MakeMultiplication(factor, &maps_[1 + factors]);
    factor = field_.Multiply(factor, factor);
  }
  uint32_t w[kMostPowers];
  for (uint32_t group = 0; group < groups; group++) {
    const size_t coset = CosetOf(upper, group);
    w[0] = parity_[coset];
    for (size_t level = 0; level < levels_; level++) {
      w[2 * level + 1] = sums_[coset * vectors_ + level / 4][level % 4];
    }
    for (size_t n = 2; n < powers; n += 2) w[n] = maps_[0].Of(w[n / 2]);
    for (size_t b = 0; b < factors; b++) {
      const LinearMap& product = maps_[1 + b];
      const size_t bit = size_t{1} << b;
      for (size_t first = bit; first < powers; first += 2 * bit) {
        const size_t end = std::min(first + bit, powers);
        for (size_t n = first; n < end; n++) w[n] ^= product.Of(w[n - bit]);
      }
    }
    for (size_t level = 0; level < levels_; level++) {
      sums[group * levels_ + level] ^= w[2 * level + 1];
    }
  }
}

}  // namespace rocksieve::pinsketch
