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

TEST(PinSketchRegister, GoesOnWhereItWasSaved) {
  const Field& field = Field::OfBits(10);
  std::mt19937 random(1);
  std::vector<ShiftRegister> whole(20);
  PageVector<uint32_t> words;
  ShiftRegister loaded;
  for (ShiftRegister& one : whole) one.Save(&words);
  for (int level = 1; level <= 30; level++) {
    PageVector<uint32_t> next_words;
    const uint32_t* next = words.data();
    for (size_t i = 0; i < whole.size(); i++) {
      const uint32_t sum = random() % 3 == 0 ? 0 : random() & field.order();
      whole[i].Add(field, sum);
      next = loaded.Load(next);
      loaded.Add(field, sum);
      ASSERT_EQ(loaded.sums(), whole[i].sums());
      ASSERT_EQ(loaded.is_zero(), whole[i].is_zero());
      if (!loaded.is_zero()) {
        Polynomial one, other;
        ASSERT_EQ(loaded.Reversed(&one), whole[i].Reversed(&other));
        ASSERT_EQ(one, other);
      }
      loaded.Save(&next_words);
    }
    ASSERT_EQ(next, words.data() + words.size());
    words = std::move(next_words);
  }
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

Polynomial Product(const Field& field, const std::vector<uint32_t>& roots) {
  Polynomial p = {1};
  for (uint32_t root : roots) {
    Polynomial next(p.size() + 1);
    for (size_t i = 0; i < p.size(); i++) {
      next[i + 1] ^= p[i];
      next[i] ^= field.Multiply(p[i], root);
    }
    p = next;
  }
  return p;
}

TEST(PinSketchPolynomial, DivisionAndGcd) {
  std::mt19937 random(2);
  for (int bits : {6, 11, 20}) {
    const Field& field = Field::OfBits(bits);
    for (int round = 0; round < 300; round++) {
      auto some = [&](size_t n) {
        std::vector<uint32_t> roots(n);
        for (uint32_t& root : roots) root = random() & field.order();
        return roots;
      };
      const std::vector<uint32_t> common = some(random() % 5), one = some(random() % 6),
                                  other = some(random() % 6);
      auto joined = [](std::vector<uint32_t> a, const std::vector<uint32_t>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
      };
      const Polynomial a = Product(field, joined(common, one));
      Polynomial quotient = a;
      DivideBy(field, Product(field, common), &quotient);
      EXPECT_EQ(quotient, Product(field, one));
      Polynomial rest = a;
      rest[0] ^= 1;
      Polynomial divisor = Product(field, common);
      Reduce(field, divisor, &rest);
      EXPECT_EQ(rest, common.empty() ? Polynomial{} : Polynomial{1});
      const std::set<uint32_t> left(one.begin(), one.end());
      bool disjoint = true;
      for (uint32_t root : other) disjoint &= left.count(root) == 0;
      if (!disjoint) continue;
      Polynomial divided = a, with = Product(field, joined(common, other));
      TakeGcd(field, &divided, &with);
      EXPECT_EQ(divided, Product(field, common));
    }
  }
}

uint32_t Evaluate(const Field& field, const Polynomial& p, uint32_t x) {
  uint32_t value = 0;
  for (size_t i = p.size(); i-- > 0;) value = field.Multiply(value, x) ^ p[i];
  return value;
}

// Every polynomial x^2 + b x + c and x^3 + ... over the smallest field, by trying all elements.
TEST(PinSketchRoots, AllSmallPolynomials) {
  const Field& field = Field::OfBits(6);
  RootFinder finder(field);
  std::vector<uint32_t> roots;
  for (uint32_t a = 0; a < 64; a += 3) {
    for (uint32_t b = 0; b < 64; b++) {
      for (uint32_t c = 1; c < 64; c++) {
        for (const Polynomial& p : {Polynomial{c, b, 1}, Polynomial{c, b, a, 1}}) {
          std::vector<uint32_t> expected;
          for (uint32_t x = 1; x < 64; x++) {
            if (Evaluate(field, p, x) == 0) expected.push_back(x);
          }
          const bool all = expected.size() + 1 == p.size();
          ASSERT_EQ(finder.Find(p, {}, &roots), all);
          std::sort(roots.begin(), roots.end());
          ASSERT_TRUE(!all || roots == expected);
        }
      }
    }
  }
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

TEST(PinSketchSyndromes, Golden) {
  const Field& field = Field::OfBits(12);
  const std::vector<uint32_t> expected = {4019, 2422, 485, 2653, 1067};
  EXPECT_EQ(Sums(field, {1, 77, 4095}, 5), expected);
}

// What a partitioned PinSketch is made of: parity symbols, plans; groups: pinsketch_groups_test.cc.

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
