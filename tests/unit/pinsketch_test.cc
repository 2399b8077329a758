// SPDX-License-Identifier: Apache-2.0
// PinSketch and what a partitioned one is made of.
#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/decoder.h"
#include "lib/sketch/pinsketch/parity.h"
#include "lib/sketch/pinsketch/positions.h"
#include "lib/sketch/pinsketch/sums.h"

namespace rocksieve::pinsketch {
namespace {

// The field, polynomials, roots and the decoder of PinSketch, beside slow and obvious ones.

uint32_t Modulus(int bits) {
  // x^bits is the modulus without its leading term.
  const Field& field = Field::OfBits(bits);
  return field.Exp(static_cast<uint32_t>(bits)) | uint32_t{1} << bits;
}

// Schoolbook multiplication of polynomials over GF(2).
uint32_t SlowMultiply(uint32_t a, uint32_t b, int bits) {
  const uint32_t modulus = Modulus(bits);
  uint32_t product = 0;
  for (int i = 0; i < bits; i++) {
    if (b >> i & 1) product ^= a;
    a <<= 1;
    if (a >> bits) a ^= modulus;
  }
  return product;
}

ShiftRegister RegisterOf(const Field& field, const std::vector<uint32_t>& sums) {
  ShiftRegister result;
  for (const uint32_t sum : sums) result.Add(field, sum);
  return result;
}

TEST(PinSketchField, MultipliesLikePolynomials) {
  std::mt19937 random(1);
  for (int bits = Field::kLeastBits; bits <= Field::kMostBits; bits++) {
    const Field& field = Field::OfBits(bits);
    for (int round = 0; round < 3000; round++) {
      const uint32_t a = random() & field.order(), b = random() & field.order();
      ASSERT_EQ(field.Multiply(a, b), SlowMultiply(a, b, bits)) << bits;
    }
  }
}

// x is of full order: every element but 0 is a power of it.
TEST(PinSketchField, EveryElementIsAPowerOfX) {
  for (int bits = Field::kLeastBits; bits <= Field::kMostBits; bits++) {
    const Field& field = Field::OfBits(bits);
    for (uint32_t a = 1; a <= field.order(); a++) ASSERT_EQ(field.Exp(field.Log(a)), a) << bits;
    for (uint32_t i = 0; i < field.order(); i++) ASSERT_EQ(field.Log(field.Exp(i)), i) << bits;
    for (uint64_t power : {uint64_t{0}, uint64_t{field.order()}, uint64_t{1} << 39}) {
      EXPECT_EQ(field.ReduceLog(power + 5), (power + 5) % field.order());
      EXPECT_EQ(field.ReduceLog(power), power % field.order());
    }
  }
}

TEST(PinSketchField, ManyThreadsMayBeTheFirst) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([] { EXPECT_EQ(Field::OfBits(19).Exp(0), 1u); });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<uint32_t> Sums(const Field& field, const std::vector<uint32_t>& ids, size_t t) {
  std::vector<uint32_t> sums(t);
  for (uint32_t id : ids) AddToSums(field, id, sums);
  return sums;
}

TEST(PinSketchSyndromes, AreSumsOfOddPowers) {
  std::mt19937 random(3);
  for (int bits = Field::kLeastBits; bits <= Field::kMostBits; bits++) {
    const Field& field = Field::OfBits(bits);
    for (int round = 0; round < 50; round++) {
      const uint32_t id = 1 + random() % field.order();
      const std::vector<uint32_t> sums = Sums(field, {id}, 40);
      uint32_t power = id;
      for (int level = 1; level <= 40; level++) {
        ASSERT_EQ(sums[static_cast<size_t>(level - 1)], power);
        ASSERT_EQ(PowerAtLevel(field, id, level), power);
        power = SlowMultiply(SlowMultiply(power, id, bits), id, bits);
      }
    }
  }
}

// All sets of at most three ids in the smallest field, from as many sums as ids, and from more.
TEST(PinSketchDecoder, AllSmallSets) {
  const Field& field = Field::OfBits(6);
  Decoder decoder(field);
  std::vector<uint32_t> found;
  for (uint32_t a = 1; a < 64; a++) {
    for (uint32_t b = a; b < 64; b++) {
      for (uint32_t c = b; c < 64; c++) {
        std::vector<uint32_t> ids = {a};
        if (b > a) ids.push_back(b);
        if (c > b) ids.push_back(c);
        for (size_t t = ids.size(); t <= 5; t++) {
          ASSERT_TRUE(decoder.Decode(RegisterOf(field, Sums(field, ids, t)), {}, &found))
              << a << ' ' << b << ' ' << c;
          ASSERT_EQ(found, ids);
        }
      }
    }
  }
}

TEST(PinSketchDecoder, RandomSetsInAllFields) {
  std::mt19937 random(4);
  for (int bits = Field::kLeastBits; bits <= Field::kMostBits; bits++) {
    const Field& field = Field::OfBits(bits);
    Decoder decoder(field);
    std::vector<uint32_t> found;
    for (size_t size = 0; size <= 40; size++) {
      std::set<uint32_t> ids;
      while (ids.size() < std::min<size_t>(size, 30)) ids.insert(1 + random() % field.order());
      const std::vector<uint32_t> sorted(ids.begin(), ids.end());
      for (size_t t : {ids.size(), ids.size() + 1, ids.size() + 7}) {
        ASSERT_TRUE(decoder.Decode(RegisterOf(field, Sums(field, sorted, t)), {}, &found))
            << bits << ' ' << t;
        ASSERT_EQ(found, sorted);
      }
    }
  }
}

// Random sums, and sums of too many ids: refused, or a set that has just these sums. At t sums
// about one in t! is accepted.
TEST(PinSketchDecoder, WhatIsAcceptedHasTheSums) {
  std::mt19937 random(5);
  for (int bits : {6, 9, 14}) {
    const Field& field = Field::OfBits(bits);
    Decoder decoder(field);
    std::vector<uint32_t> found;
    int accepted_of_4 = 0;
    constexpr int kRounds = 12000;
    for (int round = 0; round < kRounds; round++) {
      const size_t t = round % 3 == 0 ? 4 : 1 + random() % 9;
      std::vector<uint32_t> sums(t);
      for (uint32_t& sum : sums) sum = random() & field.order();
      if (!decoder.Decode(RegisterOf(field, sums), {}, &found)) continue;
      EXPECT_LE(found.size(), t);
      EXPECT_EQ(Sums(field, found, t), sums);
      if (round % 3 == 0) accepted_of_4++;
    }
    EXPECT_NEAR(accepted_of_4, kRounds / 3 / 24, 60) << bits;
  }
}

// What a partitioned PinSketch is made of: parity symbols, plans, groups.

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

// What the groups of a partitioned PinSketch add up to, beside the obvious way to find out.

std::vector<uint64_t> RandomHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
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
        const bool is_set = plain.Decode(RegisterOf(field, sums), {}, &found);
        ASSERT_EQ(quick.Decode(RegisterOf(field, sums), likely, &found_quickly), is_set);
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

}  // namespace
}  // namespace rocksieve::pinsketch
