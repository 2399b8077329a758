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
      rows_((size_t{field.order()} + 1) * lines_, Line{}) {
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

void PowerRows::AddAll(const CellTable& cells, std::span<uint32_t> sums,
                       std::span<uint32_t> checks) const {
  switch (lines_) {
    case 1:
      return Add<1>(cells, sums, checks);
    case 2:
      return Add<2>(cells, sums, checks);
    default:
      return Add<3>(cells, sums, checks);
  }
}

template <size_t kLines>
void PowerRows::Add(const CellTable& cells, std::span<uint32_t> sums,
                    std::span<uint32_t> checks) const {
  constexpr size_t kVectors = kLines * sizeof(Line) / sizeof(Vector);
  for (uint32_t group = 0; group < cells.groups(); group++) {
    const std::span<const CellEntry> entries = cells.Group(group);
    if (entries.empty()) continue;
    union {
      Vector vectors[kVectors];
      Line lines[kLines];
    } total = {};
    uint32_t check = 0;
    for (const CellEntry& entry : entries) {
      const Vector* const row = reinterpret_cast<const Vector*>(&rows_[entry.id * kLines]);
      for (size_t i = 0; i < kVectors; i++) total.vectors[i] ^= row[i];
      check ^= CellCheck(group, entry.id);
    }
    checks[group / kGroupsPerCheck] ^= check;
    uint32_t* const group_sums = &sums[group * levels_];
    for (size_t level = 0; level < levels_; level++) {
      group_sums[level] ^= total.lines[level / kLevelsOfALine].powers[level % kLevelsOfALine];
    }
  }
}

size_t PowerRows::Select(const Mask& mask, size_t levels, uint32_t parity,
                         std::span<uint32_t> ids) const {
  constexpr size_t kLevelsOfAVector = sizeof(Vector) / sizeof(uint16_t);
  const size_t vectors = (levels + kLevelsOfAVector - 1) / kLevelsOfAVector;
  switch (vectors) {
    case 1:
      return SelectBy<1>(mask, parity, ids);
    case 2:
      return SelectBy<2>(mask, parity, ids);
    case 3:
    case 4:
      return SelectBy<4>(mask, parity, ids);  // a line, which is there as a whole
    default:
      return lines_ == 2 ? SelectBy<8>(mask, parity, ids) : SelectBy<12>(mask, parity, ids);
  }
}

template <size_t kVectors>
size_t PowerRows::SelectBy(const Mask& mask, uint32_t parity, std::span<uint32_t> ids) const {
  const Vector* const bits = reinterpret_cast<const Vector*>(mask.powers_);
  size_t selected = 0;
  for (const uint32_t id : ids) {
    const Vector* const row = reinterpret_cast<const Vector*>(&rows_[id * lines_]);
    Vector sum = row[0] & bits[0];
    for (size_t i = 1; i < kVectors; i++) sum ^= row[i] & bits[i];
    // Without a branch on what nobody can foresee.
    ids[selected] = id;
    selected += static_cast<uint32_t>(__builtin_parityll(sum[0] ^ sum[1])) == parity;
  }
  return selected;
}

}  // namespace rocksieve::pinsketch
