// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/cells.h"

#include <algorithm>

#include "lib/sketch/pinsketch/algebra.h"

namespace rocksieve::pinsketch {

CellTable::CellTable(std::span<const uint64_t> hashes, uint32_t groups, int field_bits)
    : begin_(size_t{groups} + 1), entries_(hashes.size()) {
  for (uint64_t hash : hashes) begin_[CellOf(hash, groups, field_bits).group + 1]++;
  for (uint32_t group = 0; group < groups; group++) begin_[group + 1] += begin_[group];
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (size_t i = 0; i < hashes.size(); i++) {
    const Cell cell = CellOf(hashes[i], groups, field_bits);
    entries_[next[cell.group]++] = {cell.id, static_cast<uint32_t>(i)};
  }
  const auto before = [](const CellEntry& a, const CellEntry& b) {
    return a.id != b.id ? a.id < b.id : a.index < b.index;
  };
  for (uint32_t group = 0; group < groups; group++) {
    std::sort(entries_.begin() + begin_[group], entries_.begin() + begin_[group + 1], before);
  }
}

void CellTable::OddCells(uint32_t group, std::vector<uint32_t>* ids) const {
  ids->clear();
  for (const CellEntry& entry : Group(group)) {
    if (!ids->empty() && ids->back() == entry.id) {
      ids->pop_back();
    } else {
      ids->push_back(entry.id);
    }
  }
}

GroupSums::GroupSums(const Plan& plan, std::span<const uint64_t> hashes)
    : field_bits_(plan.field_bits),
      levels_(static_cast<size_t>(plan.Levels())),
      groups_(plan.groups),
      cells_(hashes.size()),
      sums_(size_t{plan.groups} * levels_),
      checks_(plan.Checks()) {
  const Field& field = Field::OfBits(field_bits_);
  for (size_t i = 0; i < hashes.size(); i++) {
    const Cell cell = CellOf(hashes[i], groups_, field_bits_);
    cells_[i] = cell;
    AddToSums(field, cell.id, OfGroup(cell.group));
    checks_[cell.group / kGroupsPerCheck] ^= CellCheck(cell.group, cell.id);
  }
}

void GroupSums::AtLevel(int level, std::vector<uint32_t>* sums) const {
  sums->assign(groups_, 0);
  const size_t index = static_cast<size_t>(level - 1);
  if (index < levels_) {
    for (size_t group = 0; group < groups_; group++) {
      (*sums)[group] = sums_[group * levels_ + index];
    }
    return;
  }
  const Field& field = Field::OfBits(field_bits_);
  for (const Cell& cell : cells_) (*sums)[cell.group] ^= PowerAtLevel(field, cell.id, level);
}

}  // namespace rocksieve::pinsketch
