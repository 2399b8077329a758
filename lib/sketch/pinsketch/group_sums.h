// SPDX-License-Identifier: Apache-2.0
// What a group's cells add up to: one side's keys as sums of odd powers, by group, and the checks
// of each 64 groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/memory/page_vector.h"
#include "lib/sketch/pinsketch/cells.h"
#include "lib/sketch/pinsketch/plan.h"
#include "lib/sketch/pinsketch/power_rows.h"

namespace rocksieve::pinsketch {

// If the keys are many, powers of all ids, or of the lower bits of all ids, are computed first, so
// that a key costs but some exclusive ors. The latter take memory only until the sums are made.
class GroupSums {
 public:
  // `cells` must outlive it, and be made for the plan.
  GroupSums(const Plan& plan, const CellTable& cells);

  // The sums of a group at the levels 1 .. plan.Levels().
  std::span<const uint32_t> OfGroup(uint32_t group) const {
    return std::span(sums_).subspan(group * levels_, levels_);
  }
  // The sums of all groups at any level. Fills *sums.
  void AtLevel(int level, std::vector<uint32_t>* sums) const;
  const std::vector<uint32_t>& checks() const { return checks_; }
  // Null if there are none.
  const PowerRows* rows() const { return rows_.get(); }
  // Memory that they take, about, with that of the table.
  static uint64_t MemoryFor(const Plan& plan, size_t hashes);

 private:
  void AddOneByOne();

  const int field_bits_;
  const size_t levels_;
  const CellTable& cells_;
  std::unique_ptr<const PowerRows> rows_;
  PageVector<uint32_t> sums_;
  std::vector<uint32_t> checks_;
};

}  // namespace rocksieve::pinsketch
