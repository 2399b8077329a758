// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/group_sums.h"

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/coset_sums.h"

namespace rocksieve::pinsketch {
namespace {

bool UsesRows(const Plan& plan, size_t hashes) {
  return plan.field_bits <= PowerRows::kMostFieldBits && hashes >= size_t{2} << plan.field_bits;
}

}  // namespace

uint64_t GroupSums::MemoryFor(const Plan& plan, size_t hashes) {
  uint64_t bytes = CellTable::MemoryFor(plan.groups, hashes) +
                   uint64_t{plan.groups} * static_cast<uint64_t>(plan.Levels()) * sizeof(uint32_t);
  if (UsesRows(plan, hashes)) {
    bytes += PowerRows::MemoryFor(plan.field_bits, plan.Levels());
  } else if (CosetSums::IsWorth(plan, hashes)) {
    bytes += CosetSums::MemoryFor(plan.field_bits, plan.Levels());
  }
  return bytes;
}

GroupSums::GroupSums(const Plan& plan, const CellTable& cells)
    : field_bits_(plan.field_bits),
      levels_(static_cast<size_t>(plan.Levels())),
      cells_(cells),
      sums_(size_t{plan.groups} * levels_, 0),
      checks_(plan.Checks()) {
  if (UsesRows(plan, cells.size())) {
    rows_ = std::make_unique<PowerRows>(Field::OfBits(field_bits_), plan.Levels());
    rows_->AddAll(cells, sums_, checks_);
  } else if (CosetSums::IsWorth(plan, cells.size())) {
    CosetSums(Field::OfBits(field_bits_), plan.Levels()).AddAll(cells, sums_, checks_);
  } else {
    AddOneByOne();
  }
}

void GroupSums::AddOneByOne() {
  const Field& field = Field::OfBits(field_bits_);
  for (uint32_t group = 0; group < cells_.groups(); group++) {
    const std::span<uint32_t> sums = std::span(sums_).subspan(group * levels_, levels_);
    for (const CellEntry& entry : cells_.Group(group)) {
      AddToSums(field, entry.id, sums);
      checks_[group / kGroupsPerCheck] ^= CellCheck(group, entry.id);
    }
  }
}

void GroupSums::AtLevel(int level, std::vector<uint32_t>* sums) const {
  sums->assign(cells_.groups(), 0);
  const size_t index = static_cast<size_t>(level - 1);
  if (index < levels_) {
    for (size_t group = 0; group < sums->size(); group++) {
      (*sums)[group] = sums_[group * levels_ + index];
    }
    return;
  }
  const Field& field = Field::OfBits(field_bits_);
  for (uint32_t group = 0; group < cells_.groups(); group++) {
    uint32_t sum = 0;
    for (const CellEntry& entry : cells_.Group(group)) sum ^= PowerAtLevel(field, entry.id, level);
    (*sums)[group] = sum;
  }
}

}  // namespace rocksieve::pinsketch
