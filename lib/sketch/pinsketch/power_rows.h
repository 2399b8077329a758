// SPDX-License-Identifier: Apache-2.0
// The odd powers of every id of a field, a row for each id: the sums of a group are then the
// exclusive or of its ids' rows, a few vectors for each key whatever the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/memory/page_vector.h"
#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/cells.h"

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
  using Vector = uint64_t __attribute__((vector_size(16), aligned(16), may_alias));

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

}  // namespace rocksieve::pinsketch
