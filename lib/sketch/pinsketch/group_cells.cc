// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/group_cells.h"

#include <algorithm>

namespace rocksieve::pinsketch {

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
