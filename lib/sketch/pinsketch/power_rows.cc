// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/power_rows.h"

#include "lib/sketch/pinsketch/plan.h"

namespace rocksieve::pinsketch {
namespace {

static_assert(kMostLevels <= 96, "AddAll knows rows of up to three lines");

}  // namespace

PowerRows::PowerRows(const Field& field, int levels)
    : levels_(static_cast<size_t>(levels)),
      lines_(LinesFor(levels)),
      rows_((size_t{field.order()} + 1) * lines_) {
  for (uint32_t id = 1; id <= field.order(); id++) {
    const uint32_t step = field.ReduceOnce(2 * field.Log(id));
    uint32_t log = field.Log(id);
    for (size_t level = 0; level < levels_; level++) {
      Line& line = rows_[id * lines_ + level / kLevelsOfALine];
      line.powers[level % kLevelsOfALine] = static_cast<uint16_t>(field.Exp(log));
      log = field.ReduceOnce(log + step);
    }
  }
}

void PowerRows::AddAll(const CellTable& cells, std::span<uint32_t> sums) const {
  switch (lines_) {
    case 1:
      return Add<1>(cells, sums);
    case 2:
      return Add<2>(cells, sums);
    default:
      return Add<3>(cells, sums);
  }
}

template <size_t kLines>
void PowerRows::Add(const CellTable& cells, std::span<uint32_t> sums) const {
  // Sixteen bytes at a time, in registers: every compiler for every architecture has such vectors.
  using Vector = uint64_t __attribute__((vector_size(16), aligned(16), may_alias));
  constexpr size_t kVectors = kLines * sizeof(Line) / sizeof(Vector);
  for (uint32_t group = 0; group < cells.groups(); group++) {
    const std::span<const CellEntry> entries = cells.Group(group);
    if (entries.empty()) continue;
    union {
      Vector vectors[kVectors];
      Line lines[kLines];
    } total = {};
    for (const CellEntry& entry : entries) {
      const Vector* const row = reinterpret_cast<const Vector*>(&rows_[entry.id * kLines]);
      for (size_t i = 0; i < kVectors; i++) total.vectors[i] ^= row[i];
    }
    uint32_t* const group_sums = &sums[group * levels_];
    for (size_t level = 0; level < levels_; level++) {
      group_sums[level] ^= total.lines[level / kLevelsOfALine].powers[level % kLevelsOfALine];
    }
  }
}

}  // namespace rocksieve::pinsketch
