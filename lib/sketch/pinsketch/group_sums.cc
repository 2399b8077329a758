#include "lib/sketch/pinsketch/group_sums.h"

#include "lib/sketch/pinsketch/syndromes.h"

namespace rocksieve::pinsketch {

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
