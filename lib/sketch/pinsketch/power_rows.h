// SPDX-License-Identifier: Apache-2.0
// The odd powers of every id of a field, a row for each id: the sums of a group are then the
// exclusive or of its ids' rows, a few vectors for each key whatever the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/cells.h"

namespace rocksieve::pinsketch {

class PowerRows {
 public:
  static constexpr int kMostFieldBits = 16;  // an element fits 16 bits

  // REQUIRES: field.bits() <= kMostFieldBits, 1 <= levels <= kMostLevels.
  PowerRows(const Field& field, int levels);

  // Adds all keys of the table to the sums of their groups, `levels` for each group.
  void AddAll(const CellTable& cells, std::span<uint32_t> sums) const;

  static uint64_t MemoryFor(int field_bits, int levels) {
    return (uint64_t{1} << field_bits) * LinesFor(levels) * sizeof(Line);
  }

 private:
  static constexpr size_t kLevelsOfALine = 32;
  struct alignas(64) Line {
    uint16_t powers[kLevelsOfALine];
  };

  static size_t LinesFor(int levels) {
    return (static_cast<size_t>(levels) + kLevelsOfALine - 1) / kLevelsOfALine;
  }
  template <size_t kLines>
  void Add(const CellTable& cells, std::span<uint32_t> sums) const;

  const size_t levels_, lines_;
  std::vector<Line> rows_;  // lines_ for each id
};

}  // namespace rocksieve::pinsketch
