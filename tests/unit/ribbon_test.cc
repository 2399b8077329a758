// SPDX-License-Identifier: Apache-2.0
// The ribbon family: solving its equations, the directory of its buckets, and its mathematics.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/format/block.h"
#include "lib/ribbon/builder.h"
#include "lib/ribbon/layout.h"
#include "lib/ribbon/reader.h"
#include "tests/support.h"

namespace rocksieve::ribbon {
namespace {

// Solving the equations of a ribbon filter, and what happens when that cannot be done.

Plan WidthPlan(double width) {
  Plan plan;
  plan.width = width;
  return plan;
}

FilterBlockInfo InfoOf(const Payload& built) {
  FilterBlockInfo info;
  info.family = Family::kRibbon;
  info.key_count = 1;
  info.parameter = built.parameter;
  info.payload = {built.data.get(), built.size};
  return info;
}

Payload BuildWithTail(const HashList& hashes, const Plan& plan) {
  return Build(hashes, plan, 0, kReadableBytesPastPayload);
}

HashList RandomHashes(size_t count, std::mt19937_64* random) {
  HashList hashes;
  for (size_t i = 0; i < count; i++) hashes.push_back((*random)());
  return hashes;
}

void ExpectAllFound(const Payload& built, const HashList& hashes) {
  const auto filter = Open(InfoOf(built));
  ASSERT_NE(filter, nullptr);
  for (uint64_t hash : hashes) ASSERT_TRUE(filter->MayContainHash(hash));
}

// x such that x ^ x >> 32 is y.
uint64_t UndoXorShift(uint64_t y) { return y ^ (y >> 32); }

// The key hash whose image under a reseed is this one.
uint64_t UndoReseed(uint64_t image, int reseed) {
  if (reseed == 0) return image;
  uint64_t inverse = 1;  // of kReseedFactor, by Newton's iteration
  for (int i = 0; i < 6; i++) inverse *= 2 - kReseedFactor * inverse;
  const uint64_t a = UndoXorShift(UndoXorShift(image) * inverse) * inverse;
  return UndoXorShift(a ^ static_cast<uint64_t>(reseed));
}

// More keys than a bucket may have, all of which are in the first bucket under one reseed.
HashList OneBucketUnder(int reseed, std::mt19937_64* random) {
  HashList hashes;
  for (size_t i = 0; i <= kMostKeysOfBucket; i++) {
    hashes.push_back(UndoReseed((*random)() >> 8, reseed));
  }
  return hashes;
}

TEST(RibbonEquations, AreAddedAllOrNone) {
  Equations equations(256);
  Equations::Added first, second;
  const Equation some[] = {{0b1011, 0, 7}, {0b0111, 0, 1}, {0b1, 70, 5}};
  ASSERT_TRUE(equations.Add(some, 8, &first));
  EXPECT_EQ(first.count, 3u);
  EXPECT_EQ(equations.CountFree(0, 256), 253u);
  // The sum of the first two, and one that is independent.
  const Equation more[] = {{0b1, 100, 1}, {0b1100, 0, 6}};
  EXPECT_FALSE(equations.Add(more, 8, &second));
  EXPECT_EQ(equations.CountFree(0, 256), 253u);
  const Equation nothing[] = {{0, 3, 0}};
  EXPECT_FALSE(equations.Add(nothing, 8, &second));
  equations.TakeBack(first);
  EXPECT_EQ(equations.CountFree(0, 256), 256u);
  EXPECT_TRUE(equations.Add(more, 8, &second));
}

TEST(RibbonBuilder, ReseedingCanBeUndone) {
  std::mt19937_64 random(81);
  for (int reseed = 0; reseed <= kMaxReseed; reseed++) {
    for (int i = 0; i < 1000; i++) {
      const uint64_t hash = random();
      EXPECT_EQ(Reseeded(UndoReseed(hash, reseed), reseed), hash);
    }
  }
}

TEST(RibbonBuilder, BytesDependOnTheSetOfHashesOnly) {
  std::mt19937_64 random(82);
  for (size_t count : {3, 64, 65, 500, 5000}) {
    for (bool thorough : {false, true}) {
      HashList hashes = RandomHashes(count, &random);
      Plan plan = WidthPlan(9.3);
      plan.thorough = thorough;
      const Payload built = BuildWithTail(hashes, plan);
      // Many duplicates, in any order.
      std::vector<uint64_t> repeated;
      for (int i = 0; i < 4; i++) repeated.insert(repeated.end(), hashes.begin(), hashes.end());
      std::shuffle(repeated.begin(), repeated.end(), random);
      const Payload again = BuildWithTail(HashList(repeated.begin(), repeated.end()), plan);
      EXPECT_EQ(again.parameter, built.parameter);
      EXPECT_TRUE(InfoOf(again).payload == InfoOf(built).payload) << count << " hashes";
    }
  }
}

TEST(RibbonBuilder, LeavesHardlyASlotEmpty) {
  std::mt19937_64 random(83);
  for (const auto& [count, most_slots_per_key] :
       {std::pair{100, 1.09}, {300, 1.05}, {1000, 1.016}, {20000, 1.0045}, {200000, 1.0035}}) {
    for (bool thorough : {false, true}) {
      Plan plan = WidthPlan(10);
      plan.thorough = thorough;
      const Payload built = BuildWithTail(RandomHashes(static_cast<size_t>(count), &random), plan);
      Table table;
      ASSERT_TRUE(ParseTable(InfoOf(built), &table));
      const double slots_per_key = 8.0 * static_cast<double>(table.layout.groups) / count;
      EXPECT_LE(slots_per_key, most_slots_per_key) << count << " keys";
    }
  }
}

TEST(RibbonBuilder, NeverNeedsAReseedForRandomKeys) {
  std::mt19937_64 random(84);
  for (int round = 0; round < 3000; round++) {
    const size_t count = 1 + random() % 3000;
    const HashList hashes = RandomHashes(count, &random);
    const Payload built = BuildWithTail(hashes, WidthPlan(4));
    ASSERT_EQ(ReseedOf(built.parameter), 0) << count << " keys";
    ASSERT_GT(built.size, 0u) << count << " keys";
    ExpectAllFound(built, hashes);
  }
}

TEST(HashList, KeepsWhatWasAddedThroughCopiesAndMoves) {
  std::mt19937_64 random(84);
  std::vector<uint64_t> all;
  HashList list;
  for (size_t count : {0, 1, 64, 65, 3000}) {
    while (all.size() < count) {
      all.push_back(random());
      list.push_back(all.back());
    }
    ASSERT_EQ(list.size(), count);
    ASSERT_EQ(list.empty(), count == 0);
    if (count > 0) {
      ASSERT_EQ(list.back(), all.back());
    }
    ASSERT_EQ(std::vector<uint64_t>(list.begin(), list.end()), all);
  }
  HashList copy = list;
  HashList moved = std::move(list);
  list = copy;  // NOLINT: it may be given a value again
  copy.push_back(1);
  EXPECT_EQ(std::vector<uint64_t>(list.begin(), list.end()), all);
  EXPECT_EQ(std::vector<uint64_t>(moved.begin(), moved.end()), all);
  EXPECT_EQ(copy.size(), all.size() + 1);
  copy.clear();
  EXPECT_TRUE(copy.empty());
  EXPECT_TRUE(copy.begin() == copy.end());
  PageVector<uint64_t> whole(2);
  whole[0] = 5;
  whole[1] = 6;
  HashList given(std::move(whole));
  given.push_back(7);
  EXPECT_EQ(std::vector<uint64_t>(given.begin(), given.end()), (std::vector<uint64_t>{5, 6, 7}));
}

TEST(RibbonBuilder, ReseedsHashesThatCannotBeSolved) {
  std::mt19937_64 random(85);
  HashList hashes = RandomHashes(10000, &random);
  for (int reseed = 0; reseed < kMaxReseed; reseed++) {
    for (uint64_t hash : OneBucketUnder(reseed, &random)) hashes.push_back(hash);
    const Payload built = BuildWithTail(hashes, WidthPlan(8.5));
    EXPECT_EQ(ReseedOf(built.parameter), reseed + 1);
    ExpectAllFound(built, hashes);
    const auto filter = Open(InfoOf(built));
    int positives = 0;
    for (int i = 0; i < 100000; i++) positives += filter->MayContainHash(random());
    EXPECT_NEAR(positives, 100000.0 * 0.75 / 256, 100);
  }
}

TEST(RibbonBuilder, WhatNothingSolvesMayContainEverything) {
  std::mt19937_64 random(86);
  HashList hashes;
  for (int reseed = 0; reseed <= kMaxReseed; reseed++) {
    for (uint64_t hash : OneBucketUnder(reseed, &random)) hashes.push_back(hash);
  }
  const Payload built = BuildWithTail(hashes, WidthPlan(10));
  EXPECT_EQ(FormOf(InfoOf(built)), Form::kMatchAll);
  EXPECT_EQ(built.size, 0u);
  EXPECT_EQ(built.parameter, 0);
  ExpectAllFound(built, hashes);
  ExpectAllFound(built, RandomHashes(1000, &random));
}

// Hashes that differ in their highest bit only have the same row, unless the small form has more
// slots than 31.
TEST(RibbonBuilder, SmallSetsAreReseededTooAndThenMayContainEverything) {
  HashList hashes;
  for (int reseed = 0; reseed <= kMaxReseed; reseed++) {
    if (reseed > 0) {
      const Payload built = BuildWithTail(hashes, WidthPlan(10));
      EXPECT_EQ(ReseedOf(built.parameter), reseed);
      EXPECT_EQ(FormOf(InfoOf(built)), Form::kSmall);
      ExpectAllFound(built, hashes);
    }
    for (uint64_t hash : {uint64_t{1}, uint64_t{1} << 63 | 1}) {
      hashes.push_back(UndoReseed(hash, reseed));
    }
  }
  const Payload built = BuildWithTail(hashes, WidthPlan(10));
  EXPECT_EQ(FormOf(InfoOf(built)), Form::kMatchAll);
  ExpectAllFound(built, hashes);
}

// Keys of eight bytes whose hashes were computed backwards (tests/golden/ribbon.json has them).
TEST(RibbonBuilder, AnAttackWithKeysIsSeenInTheBlock) {
  const uint64_t keys[] = {0xcc3c837bc8e4f09e, 0x07bc16a602ec90ab, 0x75a2bfb8d4e93a4b,
                           0x00b3b143f854f8b5, 0xe9e93ac5d4731b57, 0x453f8951fbb8aa44,
                           0x5812312e484d618a, 0x729ed58b51139df5};
  FilterBuilder builder(Spec("rocksieve.ribbon:10"));
  for (uint64_t key : keys) {
    std::string bytes;
    for (int i = 56; i >= 0; i -= 8) bytes += static_cast<char>(key >> i);
    builder.AddKey(bytes);
  }
  const FilterBlock block = builder.Finish();
  const OpenedFilter opened = OpenFilter(block.view());
  ASSERT_EQ(opened.state, BlockState::kIntact);
  EXPECT_EQ(FormOf(opened.info), Form::kMatchAll);
  EXPECT_EQ(ExpectedFalsePositiveRate(opened.info), 1);
  EXPECT_TRUE(opened.filter->MayContain("anything"));
}

// Where buckets begin, written and read back.

std::vector<uint32_t> OffsetsOf(const std::vector<uint32_t>& lengths) {
  std::vector<uint32_t> offsets = {0};
  for (uint32_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

std::vector<uint8_t> Written(const std::vector<uint32_t>& offsets) {
  std::vector<uint8_t> bytes(DirectoryBytes(offsets.size() - 1));
  WriteDirectory(offsets, bytes.data());
  return bytes;
}

TEST(RibbonDirectory, ReadsWhatItWrote) {
  std::mt19937_64 random(91);
  for (uint64_t buckets : {1, 2, 127, 128, 129, 1000, 20000}) {
    std::vector<uint32_t> lengths;
    for (uint64_t i = 0; i < buckets; i++) {
      lengths.push_back(kNominalGroups - 8 + static_cast<uint32_t>(random() % 17));
    }
    const std::vector<uint32_t> offsets = OffsetsOf(lengths);
    ASSERT_TRUE(DirectoryHolds(offsets));
    const std::vector<uint8_t> bytes = Written(offsets);
    const Directory directory(bytes.data(), buckets);
    for (uint64_t i = 0; i < buckets; i++) {
      ASSERT_EQ(directory.At(i).first_group, offsets[i]) << i << " of " << buckets;
      ASSERT_EQ(directory.At(i).groups, lengths[i]);
    }
    EXPECT_EQ(CountGroups(directory, buckets), offsets.back());
  }
}

TEST(RibbonDirectory, HoldsLengthsOfOneByteThatDoNotStrayFar) {
  EXPECT_TRUE(DirectoryHolds(OffsetsOf({1, 255, 30})));
  EXPECT_FALSE(DirectoryHolds(OffsetsOf({30, 0, 30})));
  EXPECT_FALSE(DirectoryHolds(OffsetsOf({30, 256, 30})));
  // 255 above the nominal beginnings, and 256.
  std::vector<uint32_t> lengths = {32 + 100, 32 + 100, 32 + 55, 32};
  EXPECT_TRUE(DirectoryHolds(OffsetsOf(lengths)));
  lengths[2]++;
  EXPECT_FALSE(DirectoryHolds(OffsetsOf(lengths)));
  // As far, but under the next anchor.
  std::vector<uint32_t> many(129, 32);
  many[126] += 150;
  many[127] += 150;
  EXPECT_TRUE(DirectoryHolds(OffsetsOf(many)));
  // Below them.
  EXPECT_TRUE(DirectoryHolds(OffsetsOf(std::vector<uint32_t>(9, 1))));
  EXPECT_FALSE(DirectoryHolds(OffsetsOf(std::vector<uint32_t>(10, 1))));
}

// Where a damaged directory is not refused, buckets still fill the groups from the first to the
// last, so that no query looks outside of them.
TEST(RibbonDirectory, DamageIsRefusedOrHarmless) {
  constexpr uint64_t kBuckets = 200;
  const std::vector<uint8_t> bytes = Written(OffsetsOf(std::vector<uint32_t>(kBuckets, 33)));
  int refused = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
    std::vector<uint8_t> damaged = bytes;
    damaged[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const Directory directory(damaged.data(), kBuckets);
    const auto groups = static_cast<int64_t>(CountGroups(directory, kBuckets));
    refused += groups == 0;
    for (uint64_t i = 0; groups != 0 && i < kBuckets; i++) {
      const Bucket bucket = directory.At(i);
      const int64_t end = bucket.first_group + static_cast<int64_t>(bucket.groups);
      ASSERT_EQ(end, i + 1 < kBuckets ? directory.At(i + 1).first_group : groups) << bit;
    }
  }
  EXPECT_GT(refused, 200);
}

// The mathematics of the ribbon family.

TEST(RibbonModel, IsTheTextbookRateForWholeWidths) {
  for (int columns = 1; columns <= 32; columns++) {
    EXPECT_EQ(FalsePositiveRate(columns, 0), std::ldexp(1.0, -columns));
    EXPECT_EQ(FalsePositiveRate(columns, 1), FalsePositiveRate(columns + 1, 0));
    EXPECT_DOUBLE_EQ(WidthForRate(std::ldexp(1.0, -columns)), columns);
  }
}

TEST(RibbonModel, WidthsAndRatesAreInverse) {
  for (double rate = 0.5; rate > 1e-9; rate *= 0.97) {
    const double width = WidthForRate(rate);
    const int columns = static_cast<int>(width);
    EXPECT_NEAR(FalsePositiveRate(columns, width - columns), rate, 1e-9 * rate);
  }
}

TEST(RibbonModel, ARateIsReachedWithHardlyMoreThanItNeeds) {
  for (double rate : {0.5, 0.3, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6}) {
    for (uint64_t keys : {10, 1000, 1000000}) {
      Budget budget;
      budget.is_rate = true;
      budget.amount = rate;
      const double reached = ExpectedRate(keys, PlanFor(keys, budget));
      EXPECT_LE(reached, rate * 1.0001);
      EXPECT_GE(reached, rate * (keys <= kMaxSmallKeys ? 0.5 : 0.97));
    }
  }
}

TEST(RibbonPlan, SpendsTheBudget) {
  for (uint64_t keys : {1000, 100000}) {
    for (double bits = 1.2; bits <= kMaxBitsPerKey; bits += 0.37) {
      Budget budget;
      budget.amount = bits;
      const Plan plan = PlanFor(keys, budget);
      // What the directory takes beyond 3 % of a small budget comes on top.
      const double spent = ExpectedPayloadBits(keys, plan) / static_cast<double>(keys);
      EXPECT_LE(spent, bits + 0.25);
      EXPECT_GE(spent, std::min(bits, 31.9) - 0.001);
    }
  }
}

TEST(RibbonPlan, BucketsHardlyStrayFromTheirNominalLengthUnderAnAnchor) {
  for (uint64_t keys = kMaxSmallKeys + 1; keys < 1000000000; keys += keys / 50 + 1) {
    const auto buckets = static_cast<double>(BucketsFor(keys));
    const double groups_per_bucket = ExpectedSlots(keys) / kSlotsPerGroup / buckets;
    const double anchored = std::min<double>(buckets, kBucketsPerAnchor);
    // The directory holds 255; keys that come unevenly take up to a hundred of them.
    EXPECT_LT(std::abs(groups_per_bucket - kNominalGroups) * anchored, 150) << keys << " keys";
  }
}

}  // namespace
}  // namespace rocksieve::ribbon
