// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/cells.h"

#include <algorithm>

namespace rocksieve::pinsketch {

CellTable::CellTable(std::span<const uint64_t> hashes, uint32_t groups, int field_bits)
    : begin_(size_t{groups} + 1), entries_(hashes.size()) {
  if (hashes.empty()) return;
  // begin_[g + 1] is where the next entry of group g goes, and its end at last.
  for (const uint64_t hash : hashes) begin_[CellOf(hash, groups, field_bits).group + 1]++;
  uint32_t begin = 0;
  for (uint32_t group = 0; group < groups; group++) {
    const uint32_t size = begin_[group + 1];
    begin_[group + 1] = begin;
    begin += size;
  }
  for (size_t i = 0; i < hashes.size(); i++) {
    const Cell cell = CellOf(hashes[i], groups, field_bits);
    entries_[begin_[cell.group + 1]++] = {cell.id, static_cast<uint32_t>(i)};
  }
}

void GroupCells::Take(std::span<const CellEntry> entries) {
  ForEachTouched([this](size_t word) {
    counts_[word] = {};
    named_[word] = 0;
  });
  // Where most words will have bits, it is quicker to look at all of them.
  const bool touches_all = entries.size() >= counts_.size() / 2;
  if (touches_all) {
    std::fill(touched_.begin(), touched_.end(), ~uint64_t{0});
    if (counts_.size() % 64 != 0) touched_.back() = (uint64_t{1} << (counts_.size() % 64)) - 1;
    for (const CellEntry& entry : entries) Add(entry.id);
    return;
  }
  std::fill(touched_.begin(), touched_.end(), 0);
  for (const CellEntry& entry : entries) {
    Add(entry.id);
    Touch(entry.id);
  }
}

}  // namespace rocksieve::pinsketch
