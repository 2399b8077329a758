// SPDX-License-Identifier: Apache-2.0
// What the groups of a partitioned PinSketch hold, and add up to, beside the obvious way to find
// out.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/cells.h"
#include "lib/sketch/pinsketch/decoder.h"
#include "lib/sketch/pinsketch/frobenius_kernel.h"
#include "lib/sketch/pinsketch/sums.h"

namespace rocksieve::pinsketch {
namespace {

std::vector<uint64_t> RandomHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

ShiftRegister RegisterWith(const Field& field, const std::vector<uint32_t>& sums) {
  ShiftRegister result;
  for (const uint32_t sum : sums) result.Add(field, sum);
  return result;
}

TEST(PinSketchGroups, TheTableHoldsEveryKeyInItsPlace) {
  const std::vector<uint64_t> hashes = RandomHashes(5000, 1);
  const CellTable table(hashes, 37, 6);
  ASSERT_EQ(table.groups(), 37u);
  EXPECT_EQ(table.size(), 5000u);
  std::vector<int> seen(hashes.size());
  for (uint32_t group = 0; group < 37; group++) {
    int64_t previous = -1;
    for (const CellEntry& entry : table.Group(group)) {
      const Cell cell = CellOf(hashes[entry.index], 37, 6);
      EXPECT_EQ(cell.group, group);
      EXPECT_EQ(cell.id, entry.id);
      EXPECT_GE(cell.id, 1u);
      EXPECT_LE(cell.id, 63u);
      EXPECT_LT(previous, entry.index);
      previous = entry.index;
      seen[entry.index]++;
    }
  }
  EXPECT_EQ(seen, std::vector<int>(hashes.size(), 1));
  EXPECT_EQ(CellOf(~uint64_t{0}, 37, 20).id, (1u << 20) - 1);
  EXPECT_EQ(CellOf(0, 37, 20).id, 1u);
  const CellTable empty({}, 5, 6);
  EXPECT_EQ(empty.groups(), 5u);
  for (uint32_t group = 0; group < 5; group++) EXPECT_TRUE(empty.Group(group).empty());
}

// With as many keys that powers are computed first, of ids or of their lower bits, and with fewer;
// with rows of one to three lines, levels that no plan has, and several turns of groups.
TEST(PinSketchGroups, SumsAreThoseOfTheKeysOneByOne) {
  for (const int bits : {6, 9, 12, 16, 17, 18, 20}) {
    const Field& field = Field::OfBits(bits);
    for (const int levels : {1, 31, 32, 33, 64, 65, 96}) {
      const size_t many = bits <= 16 ? (size_t{2} << bits) + 1
                                     : std::max(size_t{33000}, size_t{540} << (bits - 13));
      for (const size_t keys : {size_t{300}, many}) {
        if (bits == 16 && keys > 300 && levels != 33) continue;
        Plan plan;
        plan.field_bits = bits;
        plan.groups = 130;
        plan.raw_levels = levels;
        const std::vector<uint64_t> hashes = RandomHashes(keys, static_cast<uint64_t>(levels));
        const CellTable cells(hashes, plan.groups, bits);
        const GroupSums sums(plan, cells);
        if (bits > 16) {
          EXPECT_EQ(CosetSums::IsWorth(plan, keys), keys == many);
        }
        std::vector<std::vector<uint32_t>> expected(plan.groups,
                                                    std::vector<uint32_t>(kMostLevels));
        std::vector<uint32_t> checks(plan.Checks());
        for (const uint64_t hash : hashes) {
          const Cell cell = CellOf(hash, plan.groups, bits);
          AddToSums(field, cell.id, expected[cell.group]);
          checks[cell.group / kGroupsPerCheck] ^= CellCheck(cell.group, cell.id);
        }
        EXPECT_EQ(sums.checks(), checks);
        for (const int level : {1, levels, (levels + 1) / 2, kMostLevels}) {
          std::vector<uint32_t> at_level;
          sums.AtLevel(level, &at_level);
          for (uint32_t group = 0; group < plan.groups; group++) {
            ASSERT_EQ(at_level[group], expected[group][static_cast<size_t>(level) - 1])
                << bits << " bits, level " << level;
          }
        }
        for (uint32_t group = 0; group < plan.groups; group++) {
          expected[group].resize(static_cast<size_t>(levels));
          const std::span<const uint32_t> own = sums.OfGroup(group);
          ASSERT_EQ(std::vector<uint32_t>(own.begin(), own.end()), expected[group]);
        }
      }
    }
  }
}

// Whatever is said to be likely, and whether there is such a set or not.
TEST(PinSketchGroups, LikelyIdsChangeNoDecoding) {
  std::mt19937_64 random(4);
  for (const int bits : {6, 9, 12, 13, 16}) {
    const Field& field = Field::OfBits(bits);
    for (const int levels : {10, 40, 70}) {
      const PowerRows rows(field, levels);
      Decoder plain(field), quick(field, &rows);
      int decoded = 0;
      for (int round = 0; round < 400; round++) {
        const size_t count = random() % 40, sums_sent = 1 + random() % 40;
        std::vector<uint32_t> sums(sums_sent), found, found_quickly;
        std::vector<CellEntry> likely;
        for (size_t i = 0; i < count; i++) {
          const auto id = static_cast<uint32_t>(1 + random() % field.order());
          AddToSums(field, id, sums);
          if (random() % 3 != 0) likely.push_back({id, 0});
          if (random() % 8 == 0) likely.push_back({id, 0});
        }
        for (size_t i = random() % 100; i > 0; i--) {
          likely.push_back({static_cast<uint32_t>(1 + random() % field.order()), 0});
        }
        std::shuffle(likely.begin(), likely.end(), random);
        const bool is_set = plain.Decode(RegisterWith(field, sums), {}, &found);
        ASSERT_EQ(quick.Decode(RegisterWith(field, sums), likely, &found_quickly), is_set);
        if (is_set) {
          ASSERT_EQ(found_quickly, found);
        }
        decoded += is_set;
      }
      EXPECT_GT(decoded, 100) << bits;
    }
  }
}

// Beside squares that are reduced step by step: what the root finder makes of them, and the
// kernel's own powers, where this processor has one.
TEST(PinSketchGroups, PowersAreSquares) {
  const FrobeniusFunction frobenius = ActiveFrobenius();
  std::mt19937_64 random(6);
  for (int bits = Field::kLeastBits; bits <= kMostFrobeniusBits; bits++) {
    const Field& field = Field::OfBits(bits);
    RootFinder finder(field);
    int split = 0;
    for (int round = 0; round < 400; round++) {
      const size_t degree = 2 + random() % (kMostFrobeniusDegree - 1);
      Polynomial p(degree + 1);
      for (uint32_t& coefficient : p) {
        coefficient = static_cast<uint32_t>(random() % (field.order() + 1));
      }
      p.front() = static_cast<uint32_t>(1 + random() % field.order());
      p.back() = 1;
      std::set<uint32_t> roots;
      if (round % 2 == 0) {  // a product of distinct roots
        while (roots.size() < degree) {
          roots.insert(static_cast<uint32_t>(1 + random() % field.order()));
        }
        p = {1};
        for (const uint32_t root : roots) {
          p.insert(p.begin(), 0);
          for (size_t i = 0; i + 1 < p.size(); i++) p[i] ^= field.Multiply(p[i + 1], root);
        }
      }
      std::vector<uint32_t> powers(static_cast<size_t>(bits) * degree), expected;
      Polynomial power = {0, 1};
      for (int i = 0; i < bits; i++) {
        Reduce(field, p, &power);
        power.resize(degree);
        expected.insert(expected.end(), power.begin(), power.end());
        Polynomial square(2 * degree);
        for (size_t j = 0; j < degree; j++) square[2 * j] = field.Multiply(power[j], power[j]);
        power = square;
      }
      Reduce(field, p, &power);
      const bool is_x = power == Polynomial{0, 1};
      std::vector<uint32_t> found;
      ASSERT_EQ(finder.Find(p, {}, &found), is_x) << bits << ' ' << degree;
      if (!roots.empty()) {
        ASSERT_TRUE(is_x);
        ASSERT_EQ(std::set<uint32_t>(found.begin(), found.end()), roots) << bits << ' ' << degree;
      }
      split += is_x;
      if (frobenius == nullptr) continue;
      ASSERT_EQ(frobenius(field, p.data(), degree, powers.data()), is_x) << bits << ' ' << degree;
      ASSERT_EQ(powers, expected) << bits << ' ' << degree;
    }
    EXPECT_GE(split, 200);
  }
}

TEST(PinSketchGroups, TheSieveFindsTheRootsAmongIds) {
  std::mt19937_64 random(5);
  for (const int bits : {6, 11, 16}) {
    const Field& field = Field::OfBits(bits);
    const PowerRows rows(field, 33);
    RootSieve sieve(field, rows);
    for (int round = 0; round < 300; round++) {
      Polynomial p(2 + random() % 66);
      for (uint32_t& coefficient : p)
        coefficient = static_cast<uint32_t>(random() % (field.order() + 1));
      p.back() = 1;
      std::vector<CellEntry> ids(random() % 200);
      std::vector<uint32_t> expected, roots;
      for (CellEntry& entry : ids) {
        entry = {static_cast<uint32_t>(1 + random() % field.order()), 0};
        if (random() % 4 != 0 || p.size() > 60) continue;
        p.insert(p.begin(), 0);  // times x - id, so that it is a root
        for (size_t i = 0; i + 1 < p.size(); i++) p[i] ^= field.Multiply(p[i + 1], entry.id);
      }
      for (const CellEntry& entry : ids) {
        uint32_t value = 0;
        for (size_t i = p.size(); i-- > 0;) value = field.Multiply(value, entry.id) ^ p[i];
        if (value == 0) expected.push_back(entry.id);
      }
      std::sort(expected.begin(), expected.end());
      expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
      ASSERT_EQ(sieve.Find(p, ids, &roots), p.size() / 2 <= 33);
      if (p.size() / 2 <= 33) {
        ASSERT_EQ(roots, expected);
      }
    }
  }
}

// One object for groups of all sizes, after one another.
TEST(PinSketchGroups, CellsAreOddHeldAndNamedAsCounted) {
  std::mt19937_64 random(3);
  for (const int bits : {6, 7, 12, 13, 20}) {
    GroupCells cells(bits);
    const uint32_t most = (uint32_t{1} << bits) - 1;
    for (int round = 0; round < 200; round++) {
      std::map<uint32_t, int> held;
      std::vector<CellEntry> entries(random() % (round % 2 == 0 ? 8 : 400));
      const uint32_t ids = round % 3 == 0 ? std::min(most, 50u) : most;
      for (CellEntry& entry : entries) {
        entry = {static_cast<uint32_t>(1 + random() % ids), 0};
        held[entry.id]++;
      }
      if (round % 5 == 0 && !entries.empty()) {
        held[entries[0].id]--;
        entries[0].id = most;
        held[most]++;
      }
      cells.Take(entries);
      std::map<uint32_t, bool> odd;
      for (const auto& [id, count] : held) {
        EXPECT_EQ(cells.HoldsOneKey(id), count == 1);
        EXPECT_FALSE(cells.IsNamed(id));
        if (count % 2 != 0) odd[id] = false;
      }
      EXPECT_EQ(cells.OddCells(), odd.size());
      std::map<uint32_t, bool> own;
      cells.ForEachOdd([&](uint32_t id) { own[id] = false; });
      EXPECT_EQ(own, odd);
      for (int i = 0; i < 10; i++) {
        const auto id = static_cast<uint32_t>(1 + random() % ids);
        if (cells.IsNamed(id)) continue;
        cells.Name(id);
        EXPECT_TRUE(cells.IsNamed(id));
        if (odd.erase(id) == 0) odd[id] = !held.contains(id) || held[id] == 0;
      }
      std::map<uint32_t, bool> seen;
      uint32_t previous = 0;
      cells.ForEachOddOfOther([&](uint32_t id, bool empty) {
        EXPECT_LT(previous, id);
        previous = id;
        seen[id] = empty;
      });
      EXPECT_EQ(seen, odd);
    }
  }
}

}  // namespace
}  // namespace rocksieve::pinsketch
