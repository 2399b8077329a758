// One side's keys as sums of odd powers, by group, and the checks of each 64 groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/hash/mix.h"
#include "lib/sketch/pinsketch/cells.h"
#include "lib/sketch/pinsketch/plan.h"

namespace rocksieve::pinsketch {

inline uint32_t CellCheck(uint32_t group, uint32_t id) {
  return static_cast<uint32_t>(Mix64((uint64_t{group} << 32 | id) + 0x9e3779b97f4a7c15) >> 32);
}

class GroupSums {
 public:
  GroupSums(const Plan& plan, std::span<const uint64_t> hashes);

  // The sums of a group at the levels 1 .. plan.Levels().
  std::span<uint32_t> OfGroup(uint32_t group) {
    return std::span(sums_).subspan(group * levels_, levels_);
  }
  // The sums of all groups at any level. Fills *sums.
  void AtLevel(int level, std::vector<uint32_t>* sums) const;
  const std::vector<uint32_t>& checks() const { return checks_; }
  // Memory that they take, about.
  static uint64_t MemoryFor(const Plan& plan, size_t hashes) {
    return hashes * sizeof(Cell) +
           uint64_t{plan.groups} * static_cast<uint64_t>(plan.Levels()) * sizeof(uint32_t);
  }

 private:
  int field_bits_;
  size_t levels_;
  uint32_t groups_;
  std::vector<Cell> cells_;  // of each key, for levels that were not planned
  std::vector<uint32_t> sums_, checks_;
};

}  // namespace rocksieve::pinsketch
