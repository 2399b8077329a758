// SPDX-License-Identifier: Apache-2.0
// The ribbon family: solving its equations, the directory of its buckets, its kernels against slow,
// obvious code.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/format/block.h"
#include "lib/ribbon/builder.h"
#include "lib/ribbon/kernel.h"
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

FilterBlockInfo InfoOf(std::string_view payload, uint8_t parameter) {
  FilterBlockInfo info;
  info.family = Family::kRibbon;
  info.key_count = 1;
  info.parameter = parameter;
  info.payload = payload;
  return info;
}

FilterBlockInfo InfoOf(const Payload& built) {
  return InfoOf({built.data.get(), built.size}, built.parameter);
}

Payload BuildWithTail(const std::vector<uint64_t>& hashes, const Plan& plan,
                      const Kernel& kernel = ActiveKernel()) {
  return Build(HashList(hashes.begin(), hashes.end()), plan, 0, kReadableBytesPastPayload, kernel);
}

std::vector<uint64_t> RandomHashes(size_t count, std::mt19937_64* random) {
  std::vector<uint64_t> hashes(count);
  for (uint64_t& hash : hashes) hash = (*random)();
  return hashes;
}

void ExpectAllFound(const Payload& built, const std::vector<uint64_t>& hashes) {
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
std::vector<uint64_t> OneBucketUnder(int reseed, std::mt19937_64* random) {
  std::vector<uint64_t> hashes;
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

TEST(RibbonBuilder, NeverNeedsAReseedForRandomKeys) {
  std::mt19937_64 random(84);
  for (int round = 0; round < 3000; round++) {
    const size_t count = 1 + random() % 3000;
    const std::vector<uint64_t> hashes = RandomHashes(count, &random);
    const Payload built = BuildWithTail(hashes, WidthPlan(4));
    ASSERT_EQ(ReseedOf(built.parameter), 0) << count << " keys";
    ASSERT_GT(built.size, 0u) << count << " keys";
    ExpectAllFound(built, hashes);
  }
}

std::vector<uint64_t> HashesOf(const HashList& list) {
  std::vector<uint64_t> hashes;
  list.ForEach([&](uint64_t hash) { hashes.push_back(hash); });
  return hashes;
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
    ASSERT_EQ(HashesOf(list), all);
  }
  HashList copy = list;
  HashList moved = std::move(list);
  list = copy;  // NOLINT: it may be given a value again
  copy.push_back(1);
  EXPECT_EQ(HashesOf(list), all);
  EXPECT_EQ(HashesOf(moved), all);
  EXPECT_EQ(copy.size(), all.size() + 1);
  copy.clear();
  EXPECT_TRUE(copy.empty());
  EXPECT_TRUE(HashesOf(copy).empty());
  PageVector<uint64_t> whole(2);
  whole[0] = 5;
  whole[1] = 6;
  HashList given(std::move(whole));
  given.push_back(7);
  EXPECT_EQ(HashesOf(given), (std::vector<uint64_t>{5, 6, 7}));
}

TEST(RibbonBuilder, ReseedsHashesThatCannotBeSolved) {
  std::mt19937_64 random(85);
  std::vector<uint64_t> hashes = RandomHashes(10000, &random);
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
  std::vector<uint64_t> hashes;
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
  std::vector<uint64_t> hashes;
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

TEST(RibbonPlan, BucketsHardlyStrayFromTheirNominalLengthUnderAnAnchor) {
  for (uint64_t keys = kMaxSmallKeys + 1; keys < 1000000000; keys += keys / 50 + 1) {
    const auto buckets = static_cast<double>(BucketsFor(keys));
    const double groups_per_bucket = ExpectedSlots(keys) / kSlotsPerGroup / buckets;
    const double anchored = std::min<double>(buckets, kBucketsPerAnchor);
    // The directory holds 255; keys that come unevenly take up to a hundred of them.
    EXPECT_LT(std::abs(groups_per_bucket - kNominalGroups) * anchored, 150) << keys << " keys";
  }
}

// The kernels against slow, obvious code.

// As docs/formats/ribbon.md says it.
struct ObviousRow {
  uint64_t y, groups[3];
  int columns;  // that are asked
};

ObviousRow ObviousRowOf(const Table& table, uint64_t hash) {
  const auto bucket =
      static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * table.buckets) >> 64);
  uint64_t first = 0, length = 0;
  for (uint64_t q = 0; q <= bucket; q++) {
    first += length;
    length = table.directory.At(q).groups;
  }
  ObviousRow row;
  row.y = hash * (0x9FB21C651E98DF25 + 2 * length);
  row.groups[0] = first + (((row.y >> 32) * length) >> 32);
  row.groups[1] = row.groups[0] + 1;
  row.groups[2] = row.groups[0] + 4 + (row.y >> 30 & 3);
  bool wide = true;
  for (uint64_t& group : row.groups) {
    if (group >= table.layout.groups) group -= 8;
    wide = wide && group >= table.layout.first_wide_group;
  }
  row.columns = table.layout.columns + wide;
  return row;
}

// One column after the other.
bool ObviousQuery(const Table& table, uint64_t hash) {
  hash = Reseeded(hash, table.reseed);
  const ObviousRow row = ObviousRowOf(table, hash);
  const uint64_t fingerprint = (hash * 0xD6E8FEB86659FD93) >> 32;
  for (int column = 0; column < row.columns; column++) {
    uint64_t selected = 0;
    for (int i = 0; i < 3; i++) {
      selected ^=
          table.group_bytes[table.layout.Byte(row.groups[i]) + static_cast<uint64_t>(column)] &
          (row.y >> (32 + 8 * i) & 0xFF);
    }
    if (std::popcount(selected) % 2 != static_cast<int>(fingerprint >> column & 1)) return false;
  }
  return true;
}

// A payload of the general form with bytes that mean nothing. Buckets have lengths of all kinds
// where they are few, since many of these would stray too far.
std::string AnyPayload(int columns, uint64_t buckets, double narrow_share,
                       std::mt19937_64* random) {
  std::vector<uint32_t> offsets = {0};
  for (uint64_t q = 0; q < buckets; q++) {
    const uint64_t length = buckets > 3 ? 26 + (*random)() % 13 : 1 + (*random)() % 250;
    offsets.push_back(offsets.back() + static_cast<uint32_t>(std::max<uint64_t>(8, length)));
  }
  EXPECT_TRUE(DirectoryHolds(offsets));
  const uint64_t groups = offsets.back();
  const auto first_wide = static_cast<uint32_t>(
      narrow_share == 1 ? kNoWideGroups : narrow_share * static_cast<double>(groups));
  std::string payload(8 + DirectoryBytes(buckets), '\0');
  StoreLittleEndian32(payload.data(), static_cast<uint32_t>(buckets));
  StoreLittleEndian32(payload.data() + 4, first_wide);
  WriteDirectory(offsets, reinterpret_cast<uint8_t*>(payload.data()) + 8);
  for (uint64_t i = GroupByte(groups, columns, first_wide); i > 0; i--) {
    payload += static_cast<char>((*random)());
  }
  return payload;
}

TEST(RibbonKernel, AnswersAsTheObviousQueryOnAnyBytes) {
  std::mt19937_64 random(71);
  for (int columns = 1; columns <= 32; columns++) {
    for (double narrow_share : {1.0, 0.5, 0.0}) {
      if (columns == 32 && narrow_share < 1) continue;
      for (uint64_t buckets : {1, 2, 20, 300}) {
        for (int reseed : {0, 2}) {
          const std::string payload = AnyPayload(columns, buckets, narrow_share, &random);
          // What follows the payload, of which queries read as much as there is of a block's tail.
          const ExactCopy copy(payload + std::string(kReadableBytesPastPayload, '\x55'));
          const FilterBlockInfo info = InfoOf(copy.view().substr(0, payload.size()),
                                              static_cast<uint8_t>(columns + 64 * reseed));
          Table table;
          ASSERT_TRUE(ParseTable(info, &table));
          std::vector<std::unique_ptr<Filter>> filters;
          for (Isa isa : UsableIsas()) filters.push_back(Open(info, KernelFor(isa)));
          for (int i = 0; i < 1000; i++) {
            const uint64_t hash = random();
            const bool expected = ObviousQuery(table, hash);
            for (size_t k = 0; k < filters.size(); k++) {
              ASSERT_EQ(filters[k]->MayContainHash(hash), expected)
                  << KernelFor(UsableIsas()[k]).name << ", " << columns << " columns, narrow share "
                  << narrow_share << ", hash " << hash;
            }
          }
        }
      }
    }
  }
}

TEST(RibbonReader, RateIsThatOfTheColumnsThatRowsAreAsked) {
  std::mt19937_64 random(73);
  for (uint64_t buckets : {1, 2, 20}) {
    for (double narrow_share : {0.0, 0.1, 0.5, 0.9, 1.0}) {
      const std::string payload = AnyPayload(9, buckets, narrow_share, &random);
      Table table;
      ASSERT_TRUE(ParseTable(InfoOf(payload, 9), &table));
      constexpr int kRows = 100000;
      double sum = 0;
      for (int i = 0; i < kRows; i++) sum += std::ldexp(1, -ObviousRowOf(table, random()).columns);
      EXPECT_NEAR(RateOf(table) / (sum / kRows), 1, 0.01) << buckets << ", " << narrow_share;
    }
  }
}

TEST(RibbonKernel, BuildsTheSameBytesAndFindsEveryKeyAtEveryWidth) {
  std::mt19937_64 random(72);
  for (double width = 1; width <= 32; width += 0.5) {
    for (size_t keys : {1, 30, 64, 65, 300, 3000}) {
      const std::vector<uint64_t> hashes = RandomHashes(keys, &random);
      Plan plan;
      plan.width = width;
      const Payload portable = BuildWithTail(hashes, plan, kPortableKernel);
      const std::string_view bytes(portable.data.get(), portable.size);
      for (Isa isa : UsableIsas()) {
        const Kernel& kernel = KernelFor(isa);
        const Payload built = BuildWithTail(hashes, plan, kernel);
        ASSERT_TRUE(std::string_view(built.data.get(), built.size) == bytes) << kernel.name;
        const auto filter = Open(InfoOf(bytes, built.parameter), kernel);
        ASSERT_NE(filter, nullptr);
        for (uint64_t hash : hashes) ASSERT_TRUE(filter->MayContainHash(hash)) << kernel.name;
      }
    }
  }
}

// Buckets that fail, backlogs of all sizes, crowded and nearly empty buckets, rows without a bit:
// what the kernels eliminate in their own ways.
TEST(RibbonKernel, BuildsTheSameBytesOfManyKeysAndOfChosenOnes) {
  std::mt19937_64 random(74);
  std::vector<std::vector<uint64_t>> sets(6);
  for (int i = 0; i < 20000; i++) {
    const uint64_t hash = random();
    sets[0].push_back(hash);
    sets[1].push_back(i < 5000 ? hash : hash >> 5);  // some buckets have six times as many
    sets[2].push_back(i % 3000 == 0 ? ~uint64_t{0} / 3 : hash);  // equal ones
    sets[3].push_back(hash & ~uint64_t{0xFFFFFF});               // rows that are alike
    sets[4].push_back(i == 0 ? 0 : hash);       // no bits in its row, whatever the length
    if (i < 700) sets[5].push_back(hash >> 1);  // half of the buckets have none
  }
  for (const std::vector<uint64_t>& set : sets) {
    for (double width : {1.0, 6.8, 12.0, 19.5}) {
      for (bool thorough : {false, true}) {
        Plan plan;
        plan.width = width;
        plan.thorough = thorough;
        const Payload portable = BuildWithTail(set, plan, kPortableKernel);
        const std::string_view bytes(portable.data.get(), portable.size);
        EXPECT_GT(bytes.size(), 0u);
        for (Isa isa : UsableIsas()) {
          const Kernel& kernel = KernelFor(isa);
          const Payload built = BuildWithTail(set, plan, kernel);
          ASSERT_EQ(built.parameter, portable.parameter) << kernel.name;
          ASSERT_TRUE(std::string_view(built.data.get(), built.size) == bytes)
              << kernel.name << ", set " << &set - sets.data() << ", " << width << " columns";
        }
      }
    }
  }
}

// With a compact head, the same groups are elsewhere: the answers must be those of the plain one.
TEST(RibbonKernel, ACompactHeadChangesNoAnswer) {
  std::mt19937_64 random(73);
  for (double width : {1.0, 1.4, 7.0, 10.0, 10.3, 30.5, 31.0, 31.5, 32.0}) {
    for (size_t keys : {65, 66, 300, 2000, 5000, 32767}) {
      const std::vector<uint64_t> hashes = RandomHashes(keys, &random);
      Plan plan;
      plan.width = width;
      const Payload plain = BuildWithTail(hashes, plan, kPortableKernel);
      plan.compact = true;
      for (Isa isa : UsableIsas()) {
        const Kernel& kernel = KernelFor(isa);
        const Payload built = BuildWithTail(hashes, plan, kernel);
        const size_t saved = width == 32 ? 0 : width == static_cast<int>(width) ? 10 : 8;
        ASSERT_EQ(built.size + saved, plain.size) << width << " columns, " << keys << " keys";
        const ExactCopy copy(std::string(built.data.get(), built.size) +
                             std::string(kReadableBytesPastPayload, '\x55'));
        const auto compact_filter =
            Open(InfoOf(copy.view().substr(0, built.size), built.parameter), kernel);
        const auto plain_filter =
            Open(InfoOf({plain.data.get(), plain.size}, plain.parameter), kernel);
        ASSERT_NE(compact_filter, nullptr);
        std::vector<uint64_t> asked = hashes;
        for (int i = 0; i < 1000; i++) asked.push_back(random());
        const std::unique_ptr<bool[]> answers(new bool[asked.size()]);
        compact_filter->MayContainHashes(asked.data(), asked.size(), answers.get());
        for (size_t i = 0; i < asked.size(); i++) {
          const bool expected = plain_filter->MayContainHash(asked[i]);
          ASSERT_TRUE(expected || i >= keys) << kernel.name;
          ASSERT_EQ(compact_filter->MayContainHash(asked[i]), expected) << kernel.name;
          ASSERT_EQ(answers[i], expected) << kernel.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rocksieve::ribbon
