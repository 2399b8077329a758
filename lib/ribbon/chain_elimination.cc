// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/chain_elimination.h"

#include <utility>

namespace rocksieve::ribbon {
namespace {

constexpr size_t kReach = kGroupsPerRow * kSlotsPerGroup;

}  // namespace

ChainElimination::ChainElimination(size_t keys, BackSubstitution back_substitution)
    : back_substitution_(back_substitution), equations_(keys + keys / 128 + 256) {}

bool ChainElimination::AddBucket(Span<const uint64_t> hashes, uint64_t groups, bool last) {
  const size_t slots = groups * kSlotsPerGroup;
  const size_t needed = slots_ + slots + 2 * kReach;
  if (needed > equations_.slots()) equations_.GrowTo(needed + needed / 8);
  SortIntoEquations(hashes, groups, last);
  if (!equations_.Add({sorted_.data(), hashes.size()}, slots_, &try_)) return false;
  std::swap(added_, try_);
  slots_ += slots;
  slots_of_last_ = slots;
  return true;
}

void ChainElimination::TakeBack() {
  equations_.TakeBack(added_);
  slots_ -= slots_of_last_;
}

// No row reaches farther.
int64_t ChainElimination::Backlog() const {
  return static_cast<int64_t>(kReach - equations_.CountFree(slots_, slots_ + kReach));
}

// By first group: from left to right, elimination takes the fewest steps. The place of each row
// among those of its group is known after the first pass, so that no store of the second one waits
// for another.
void ChainElimination::SortIntoEquations(Span<const uint64_t> hashes, uint64_t groups, bool last) {
  if (sorted_.size() < hashes.size()) sorted_.resize(hashes.size());
  uint16_t group[kMostKeysOfBucket], place[kMostKeysOfBucket], begin[kMostGroupsTried + 1] = {};
  for (size_t i = 0; i < hashes.size(); i++) {
    group[i] = static_cast<uint16_t>(Row(hashes[i], groups).FirstGroup(groups));
    place[i] = begin[group[i] + 1]++;
  }
  for (uint64_t g = 0; g < groups; g++)
    begin[g + 1] = static_cast<uint16_t>(begin[g + 1] + begin[g]);
  for (size_t i = 0; i < hashes.size(); i++) {
    const Row row(hashes[i], groups);
    sorted_[size_t{begin[group[i]]} + place[i]] =
        last ? EquationInLastBucket(row, group[i], hashes[i], groups)
             : EquationOf(row, group[i], hashes[i]);
  }
}

}  // namespace rocksieve::ribbon
