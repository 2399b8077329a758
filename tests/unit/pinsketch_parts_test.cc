// What a partitioned PinSketch is made of: the table of cells, parity symbols, plans.
#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "lib/sketch/pinsketch/cells.h"
#include "lib/sketch/pinsketch/parity.h"
#include "lib/sketch/pinsketch/plan.h"

namespace rocksieve::pinsketch {
namespace {

TEST(PinSketchParts, CellTableHoldsEveryKeyInItsPlace) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> hashes(5000);
  for (uint64_t& hash : hashes) hash = random();
  const CellTable table(hashes, 37, 6);
  ASSERT_EQ(table.groups(), 37u);
  size_t entries = 0;
  for (uint32_t group = 0; group < 37; group++) {
    std::map<uint32_t, int> count;
    const CellEntry* previous = nullptr;
    for (const CellEntry& entry : table.Group(group)) {
      const Cell cell = CellOf(hashes[entry.index], 37, 6);
      EXPECT_EQ(cell.group, group);
      EXPECT_EQ(cell.id, entry.id);
      EXPECT_GE(cell.id, 1u);
      EXPECT_LE(cell.id, 63u);
      if (previous != nullptr) {
        EXPECT_LE(std::make_pair(previous->id, previous->index),
                  std::make_pair(entry.id, entry.index));
      }
      previous = &entry;
      count[entry.id]++;
      entries++;
    }
    std::vector<uint32_t> odd, expected;
    table.OddCells(group, &odd);
    for (auto [id, n] : count) {
      if (n % 2) expected.push_back(id);
    }
    EXPECT_EQ(odd, expected);
  }
  EXPECT_EQ(entries, 5000u);
  EXPECT_EQ(CellOf(~uint64_t{0}, 37, 20).id, (1u << 20) - 1);
  EXPECT_EQ(CellOf(0, 37, 20).id, 1u);
}

// Solvable with as many symbols as stated, in one batch or in several, and the right answer.
TEST(PinSketchParts, ParityGivesTheMissingSums) {
  std::mt19937_64 random(2);
  int failures = 0, rounds = 0;
  for (uint32_t unknowns : {1, 2, 7, 50, 120, 300, 2000}) {
    for (int round = 0; round < (unknowns > 1000 ? 5 : 40); round++, rounds++) {
      const uint32_t groups = unknowns * 3 + 20;
      std::vector<uint32_t> sums(groups), unknown;
      for (uint32_t& sum : sums) sum = random() & 0xfff;
      for (uint32_t group = 0; group < groups; group++) unknown.push_back(group);
      std::shuffle(unknown.begin(), unknown.end(), random);
      unknown.resize(unknowns);
      std::sort(unknown.begin(), unknown.end());
      const uint32_t enough = SymbolsForKnown(unknowns);
      std::vector<uint32_t> sizes = {enough};
      if (round % 4 == 1) sizes = {enough / 2, enough - enough / 2};
      if (round % 4 == 2) sizes = {enough - enough / 5, enough / 5 + 1};
      if (round % 4 == 3) sizes = {enough / 5 + 1, enough};
      std::vector<ParityBatch> batches;
      for (uint32_t size : sizes) {
        batches.emplace_back(20 + round, static_cast<int>(batches.size()), groups,
                             std::max<uint32_t>(size, 1), std::max<uint32_t>(sizes[0], 1));
        for (uint32_t group = 0; group < groups; group++) {
          if (std::binary_search(unknown.begin(), unknown.end(), group)) {
            batches.back().AddToSymbols(group, sums[group]);
          }
        }
      }
      std::vector<uint32_t> found;
      if (SolveLevel(batches, unknown, &found) != ParityResult::kSolved) {
        failures++;
        continue;
      }
      for (size_t i = 0; i < unknown.size(); i++) ASSERT_EQ(found[i], sums[unknown[i]]);
      // A wrong sum among those that were taken for known.
      batches[0].AddToSymbols(0, 77);
      if (batches[0].IsPlain() || std::binary_search(unknown.begin(), unknown.end(), 0u)) continue;
      if (SolveLevel(batches, unknown, &found) == ParityResult::kSolved) {
        EXPECT_LT(batches[0].symbols.size(), unknowns + 20);
      }
    }
  }
  EXPECT_LE(failures, rounds / 40);
}

TEST(PinSketchParts, PlansAreWithinTheirLimits) {
  for (double keys : {0.0, 1.0, 100.0, 1e6, 1e9}) {
    for (double differences : {0.0, 1.0, 30.0, 1e4, 1e6, 1e12}) {
      for (double cells : {-5.0, 1.0, 5.0, 9.0, 40.0}) {
        const Plan plan = MakePlan(keys, differences, cells);
        EXPECT_GE(plan.field_bits, 6);
        EXPECT_LE(plan.field_bits, 20);
        EXPECT_GE(plan.groups, 1u);
        EXPECT_LE(plan.Levels(), kMostLevels);
        for (uint32_t symbols : plan.parity_symbols) EXPECT_LE(symbols, plan.groups);
      }
    }
  }
}

}  // namespace
}  // namespace rocksieve::pinsketch
