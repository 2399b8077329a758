// SPDX-License-Identifier: Apache-2.0
// The odd powers of every id of a field, a row for each id: the sums of a group are then the
// exclusive or of its ids' rows, a few vectors for each key whatever the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/memory/page_pool.h"
#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/positions.h"

namespace rocksieve::pinsketch {

class PowerRows {
 public:
  static constexpr int kMostFieldBits = 16;  // an element fits 16 bits

  // REQUIRES: field.bits() <= kMostFieldBits, 1 <= levels <= kMostLevels.
  PowerRows(const Field& field, int levels);

  size_t levels() const { return levels_; }

  // Adds all keys of the table to the sums of their groups, `levels` for each group, and to the
  // checks of each kGroupsPerCheck groups.
  void AddAll(const CellTable& cells, std::span<uint32_t> sums, std::span<uint32_t> checks) const;

  // Some bits of each power at the levels below a limit.
  class Mask {
   public:
    void Set(size_t level, uint16_t bits) { powers_[level] = bits; }

   private:
    friend class PowerRows;
    alignas(16) uint16_t powers_[3 * 32] = {};
  };
  // Of the ids those at whose powers the bits of the mask, at the first so many levels, have this
  // parity: moves them to the front, and returns their number. REQUIRES: 1 <= levels <= levels();
  // those above are not set.
  size_t Select(const Mask& mask, size_t levels, uint32_t parity, std::span<uint32_t> ids) const;

  static uint64_t MemoryFor(int field_bits, int levels) {
    return (uint64_t{1} << field_bits) * LinesFor(levels) * sizeof(Line);
  }

 private:
  static constexpr size_t kLevelsOfALine = 32;
  struct alignas(64) Line {
    uint16_t powers[kLevelsOfALine];
  };
  // Sixteen bytes, in a register: every compiler for every architecture has such vectors.
  using Vector __attribute__((may_alias)) = uint64_t __attribute__((vector_size(16)));

  static size_t LinesFor(int levels) {
    return (static_cast<size_t>(levels) + kLevelsOfALine - 1) / kLevelsOfALine;
  }
  template <size_t kVectors>
  size_t SelectBy(const Mask& mask, uint32_t parity, std::span<uint32_t> ids) const;
  template <size_t kLines>
  void Add(const CellTable& cells, std::span<uint32_t> sums, std::span<uint32_t> checks) const;

  const size_t levels_, lines_;
  PageVector<Line> rows_;  // lines_ for each id
};

// Sums of odd powers in fields too large for a row of powers for each id (PowerRows).
//
// DESCRIPTION. An id is u + v, u its upper bits and v its lower ones. There is a row for each v
// alone, and the keys of a group are summed by u: V(n) = sum of v^n. What they add to the group,
// the sum of (u + v)^n, is that of u^(n - m) V(m) over all m whose bits are among those of n: in
// characteristic 2 the binomial coefficients of these are odd, and no others (Lucas). Bit by bit of
// n it is a transform of a few hundred products by constants, which are linear, and so go by small
// tables.

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

// What a group's cells add up to: one side's keys as sums of odd powers, by group, and the checks
// of each 64 groups.

// If the keys are many, powers of all ids, or of the lower bits of all ids, are computed first, so
// that a key costs but some exclusive ors. The latter take memory only until the sums are made.
class GroupSums {
 public:
  // `cells` must outlive it, and be made for the plan.
  GroupSums(const Plan& plan, const CellTable& cells);

  // The sums of a group at the levels 1 .. plan.Levels().
  std::span<const uint32_t> OfGroup(uint32_t group) const {
    return std::span(sums_).subspan(group * levels_, levels_);
  }
  // The sums of all groups at any level. Fills *sums.
  void AtLevel(int level, std::vector<uint32_t>* sums) const;
  const std::vector<uint32_t>& checks() const { return checks_; }
  // Null if there are none.
  const PowerRows* rows() const { return rows_.get(); }
  // Memory that they take, about, with that of the table.
  static uint64_t MemoryFor(const Plan& plan, size_t hashes);

 private:
  void AddOneByOne();

  const int field_bits_;
  const size_t levels_;
  const CellTable& cells_;
  std::unique_ptr<const PowerRows> rows_;
  PageVector<uint32_t> sums_;
  std::vector<uint32_t> checks_;
};

}  // namespace rocksieve::pinsketch
