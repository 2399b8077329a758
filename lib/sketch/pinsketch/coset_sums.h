// SPDX-License-Identifier: Apache-2.0
// Sums of odd powers in fields too large for a row of powers for each id (power_rows.h).
//
// DESCRIPTION. An id is u + v, u its upper bits and v its lower ones. There is a row for each v
// alone, and the keys of a group are summed by u: V(n) = sum of v^n. What they add to the group,
// the sum of (u + v)^n, is that of u^(n - m) V(m) over all m whose bits are among those of n: in
// characteristic 2 the binomial coefficients of these are odd, and no others (Lucas). Bit by bit of
// n it is a transform of a few hundred products by constants, which are linear, and so go by small
// tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/cells.h"
#include "lib/sketch/pinsketch/linear_map.h"
#include "lib/sketch/pinsketch/plan.h"

namespace rocksieve::pinsketch {

class CosetSums {
 public:
  // Of fewer keys for each group and u, adding them one by one is as quick.
  static bool IsWorth(const Plan& plan, size_t keys) {
    return plan.field_bits > kLowBits && keys >= (size_t{4} << kLowBits) &&
           keys / 4 >= uint64_t{plan.groups} << (plan.field_bits - kLowBits);
  }

  // REQUIRES: field.bits() > kLowBits, 1 <= levels <= kMostLevels.
  CosetSums(const Field& field, int levels);

  // Adds all keys of the table to the sums of their groups, `levels` for each group, and to the
  // checks of each kGroupsPerCheck groups.
  void AddAll(const CellTable& cells, std::span<uint32_t> sums, std::span<uint32_t> checks);

  static uint64_t MemoryFor(int field_bits, int levels);

 private:
  static constexpr int kLowBits = 13;
  static constexpr size_t kLow = size_t{1} << kLowBits;
  static constexpr size_t kGroupsAtOnce = 128;
  // Sixteen bytes: every compiler for every architecture has such vectors.
  using Vector = uint32_t __attribute__((vector_size(16)));

  static size_t VectorsFor(int levels) { return (static_cast<size_t>(levels) + 3) / 4; }

  void MakeMultiplication(uint32_t factor, LinearMap* map) const;

  void SumByCoset(const CellTable& cells, uint32_t begin, uint32_t end, std::span<uint32_t> checks);
  void AddCoset(uint32_t upper, uint32_t groups, uint32_t* sums);
  size_t CosetOf(uint32_t upper, uint32_t group) const {
    return size_t{upper} * kGroupsAtOnce + group;
  }

  const Field& field_;
  const size_t levels_, vectors_;
  const uint32_t cosets_;
  std::vector<Vector> rows_;     // vectors_ for each v
  std::vector<Vector> sums_;     // of the groups under way, for each u and group
  std::vector<uint8_t> parity_;  // of their keys
  std::vector<LinearMap> maps_;  // squares; products with u, u^2, u^4 ..
};

}  // namespace rocksieve::pinsketch
