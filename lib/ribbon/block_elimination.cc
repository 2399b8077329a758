// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/block_elimination.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rocksieve::ribbon {

BlockElimination::BlockElimination(size_t keys, int most_columns, const BlockFunctions& functions)
    : functions_(functions),
      result_bytes_(most_columns <= 8    ? 1
                    : most_columns <= 16 ? 2
                                         : 4) {
  std::memset(&pending_[now_], 0, sizeof(PendingRows));
  ReserveGroups(keys / kSlotsPerGroup + keys / 1024 + 32);
}

void BlockElimination::ReserveGroups(uint64_t groups) {
  equations_.resize(groups);
  more_results_.resize(groups * static_cast<uint64_t>(result_bytes_ - 1));
}

bool BlockElimination::AddBucket(Span<const uint64_t> hashes, uint64_t groups, bool last) {
  const uint64_t needed = groups_ + groups;
  if (needed > equations_.size()) ReserveGroups(needed + needed / 8);
  if (last) {
    SortLastBucket(hashes, groups);
  } else {
    functions_.sort(hashes, groups, result_bytes_, &rows_);
  }
  rows_.folded = last;
  PendingRows* const next = &pending_[next_];
  if (!functions_.eliminate(rows_, groups, result_bytes_, pending_[now_], next,
                            equations_.data() + groups_,
                            more_results_.data() + groups_ * (result_bytes_ - 1)) ||
      (last && next->places_with_rows != 0)) {
    return false;
  }
  const int free = before_;
  before_ = now_;
  now_ = next_;
  next_ = free;
  groups_ += groups;
  groups_of_last_ = groups;
  return true;
}

void BlockElimination::TakeBack() {
  std::swap(now_, before_);
  groups_ -= groups_of_last_;
}

int64_t BlockElimination::Backlog() const {
  return __builtin_popcountll(pending_[now_].places_with_rows);
}

void BlockElimination::BackSubstitute(const GroupLayout& layout, uint8_t* group_bytes) const {
  functions_.back_substitute(equations_.data(), more_results_.data(), result_bytes_, layout,
                             group_bytes);
}

// One of the buckets only: plain code.
void BlockElimination::SortLastBucket(Span<const uint64_t> hashes, uint64_t groups) {
  Equation equations[kMostKeysOfBucket];
  uint16_t* const begin = rows_.begin_of_group;
  std::fill(begin, begin + groups + 1, uint16_t{0});
  for (size_t i = 0; i < hashes.size(); i++) {
    const Row row(hashes[i], groups);
    equations[i] = EquationInLastBucket(row, row.FirstGroup(groups), hashes[i], groups);
    begin[equations[i].first_slot / kSlotsPerGroup + 1]++;
  }
  uint16_t next[kMostGroupsTried];
  for (uint64_t g = 0; g < groups; g++) {
    next[g] = begin[g];
    begin[g + 1] = static_cast<uint16_t>(begin[g + 1] + begin[g]);
  }
  for (size_t i = 0; i < hashes.size(); i++) {
    const Equation& equation = equations[i];
    const size_t at = next[equation.first_slot / kSlotsPerGroup]++;
    for (int j = 0; j < kGroupsPerRow; j++) {
      rows_.selected[j][at] = static_cast<uint8_t>(equation.coefficients >> (8 * j));
    }
    for (int j = 0; j < kMostResultBytes; j++) {
      rows_.results[j][at] = static_cast<uint8_t>(equation.result >> (8 * j));
    }
  }
}

}  // namespace rocksieve::ribbon
