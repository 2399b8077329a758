// SPDX-License-Identifier: Apache-2.0
// The Bloom filter of one key after the other: what it promises, and what it does not.
#include <rocksieve/dynamic/bloom_filter.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

TEST(BloomFilter, HoldsItsKeysAtTheRateItWasMadeFor) {
  BloomFilter filter(BloomFilterOptions::ForKeys(20000, 0.01));
  for (int i = 0; i < 20000; i++) filter.Add("key" + std::to_string(i));
  for (int i = 0; i < 20000; i++) ASSERT_TRUE(filter.MayContain("key" + std::to_string(i))) << i;
  int passed = 0;
  for (int i = 0; i < 100000; i++) passed += filter.MayContain("other" + std::to_string(i));
  EXPECT_NEAR(passed, 1000, 5 * std::sqrt(1000));
  EXPECT_NEAR(filter.ExpectedFalsePositiveRate(), 0.01, 0.0005);
  EXPECT_NEAR(filter.FillRatio(), 0.5, 0.03);
  EXPECT_LT(filter.MemoryBytes(), 20000 * 9.7 / 8 + 100);
}

TEST(BloomFilter, EverySizeHoldsItsKeys) {
  for (BloomLayout layout : {BloomLayout::kOneArray, BloomLayout::kPartitioned}) {
    for (BloomHashing hashing :
         {BloomHashing::kDouble, BloomHashing::kEnhancedDouble, BloomHashing::kIndependent}) {
      for (uint64_t bits : {1, 2, 3, 7, 63, 64, 65, 127, 1000}) {
        for (int hashes : {1, 2, 3, 7, 64}) {
          const BloomFilter filter = FilterOf({bits, hashes, hashing, layout, 5}, 0, 40);
          for (uint64_t i = 0; i < 40; i++) ASSERT_TRUE(filter.MayContainHash(TestHash(i)));
          EXPECT_EQ(filter.options().bits % (layout == BloomLayout::kPartitioned ? hashes : 1), 0u);
        }
      }
    }
  }
}

TEST(BloomFilter, MergeIsTheFilterOfTheUnion) {
  const BloomFilterOptions options = BloomFilterOptions::ForKeys(1000, 0.01);
  BloomFilter a = FilterOf(options, 0, 600);
  EXPECT_TRUE(a.Merge(FilterOf(options, 400, 1000)));
  EXPECT_TRUE(a == FilterOf(options, 0, 1000));

  const BloomFilter before = a;
  for (int field = 0; field < 5; field++) {
    BloomFilterOptions other = options;
    if (field == 0) other.bits += 64;
    if (field == 1) other.hashes++;
    if (field == 2) other.hashing = BloomHashing::kDouble;
    if (field == 3) other.layout = BloomLayout::kPartitioned;
    if (field == 4) other.seed = 1;
    EXPECT_FALSE(a.Merge(FilterOf(other, 0, 10))) << field;
    EXPECT_FALSE(a.AndBits(FilterOf(other, 0, 10))) << field;
    EXPECT_FALSE(BloomFilter::EstimateUnion(a, BloomFilter(other))) << field;
    EXPECT_FALSE(BloomFilter::EstimateIntersection(a, BloomFilter(other))) << field;
  }
  EXPECT_TRUE(a == before);
}

// Why AndBits() is not called Intersect().
TEST(BloomFilter, AndIsNotTheFilterOfTheIntersection) {
  const BloomFilterOptions options = BloomFilterOptions::ForKeys(1000, 0.01);
  const BloomFilter a = FilterOf(options, 0, 1000), b = FilterOf(options, 900, 1900);
  const BloomFilter intersection = FilterOf(options, 900, 1000);
  BloomFilter both = a;
  ASSERT_TRUE(both.AndBits(b));
  // It has every key of the intersection, and every bit of its filter ...
  for (uint64_t i = 900; i < 1000; i++) EXPECT_TRUE(both.MayContainHash(TestHash(i)));
  BloomFilter with_intersection = both;
  with_intersection.Merge(intersection);
  EXPECT_TRUE(with_intersection == both);
  // ... and others, which no key of the intersection has set.
  EXPECT_FALSE(both == intersection);
  EXPECT_NEAR(intersection.FillRatio(), 0.067, 0.01);
  EXPECT_NEAR(both.FillRatio(), 0.28, 0.02);
  // So it passes what the filter of the intersection would not: here, keys of only one of the sets,
  // which meet the bits of their own set for sure and those of the other at its rate,
  int passed = 0, passed_truly = 0;
  for (uint64_t i = 0; i < 900; i++) {
    passed += both.MayContainHash(TestHash(i));
    passed_truly += intersection.MayContainHash(TestHash(i));
  }
  EXPECT_GE(passed, 2);
  EXPECT_EQ(passed_truly, 0);
  // and it tells a wrong number of keys, while the two filters tell the right one.
  EXPECT_GT(both.EstimateKeys().value, 400);
  const Estimate size = BloomFilter::EstimateIntersection(a, b).value();
  EXPECT_NEAR(size.value, 100, 5 * size.standard_error);
  EXPECT_LT(size.standard_error, 20);
}

TEST(BloomFilter, AndOfDisjointSetsIsNotEmpty) {
  const BloomFilterOptions options = BloomFilterOptions::ForKeys(1000, 0.01);
  BloomFilter a = FilterOf(options, 0, 1000);
  a.AndBits(FilterOf(options, 1000, 2000));
  EXPECT_NEAR(a.FillRatio(), 0.25, 0.02);
}

struct Losses {
  double per_removal;
  double per_false_removal;  // of keys that were never added, but passed
};

Losses MeasureLosses(ZeroedBits which) {
  constexpr uint64_t kKeys = 1000;
  const BloomFilter filter = FilterOf(BloomFilterOptions::ForKeys(kKeys, 0.01), 0, kKeys);
  const auto lost_with = [&](uint64_t removed) {
    BloomFilter rest = filter;
    EXPECT_TRUE(rest.RemoveHashLosingOthers(TestHash(removed), which));
    EXPECT_FALSE(rest.MayContainHash(TestHash(removed)));
    EXPECT_FALSE(rest.RemoveHashLosingOthers(TestHash(removed), which));
    int lost = 0;
    for (uint64_t i = 0; i < kKeys; i++) {
      lost += i != removed && !rest.MayContainHash(TestHash(i));
    }
    return lost;
  };
  Losses losses{};
  for (uint64_t i = 0; i < kKeys; i++) losses.per_removal += lost_with(i) / double{kKeys};
  int passed = 0;
  for (uint64_t i = kKeys; i < 60 * kKeys; i++) {
    if (!filter.MayContainHash(TestHash(i))) continue;
    passed++;
    losses.per_false_removal += lost_with(i);
  }
  losses.per_false_removal /= passed;
  return losses;
}

// The price of RemoveLosingOthers(), with 7 probes and ln 2 keys per bit and probe.
TEST(BloomFilter, RemovalByZeroingLosesOtherKeys) {
  const Losses one = MeasureLosses(ZeroedBits::kOneBit), all = MeasureLosses(ZeroedBits::kAllBits);
  std::printf("other keys lost     one bit  all bits\n");
  std::printf("removal of a key  %9.2f %9.2f\n", one.per_removal, all.per_removal);
  std::printf("of one that passes%9.2f %9.2f\n", one.per_false_removal, all.per_false_removal);
  EXPECT_NEAR(one.per_removal, 0.69, 0.15);
  EXPECT_NEAR(one.per_false_removal, 1.39, 0.25);
  EXPECT_NEAR(all.per_removal, 7 * 0.69, 0.4);
  EXPECT_NEAR(all.per_false_removal, 7 * 1.39, 0.8);

  BloomFilter filter(BloomFilterOptions::ForKeys(100, 0.01));
  filter.Add("apple");
  const BloomFilter before = filter;
  EXPECT_FALSE(filter.RemoveLosingOthers("pear", ZeroedBits::kAllBits));
  EXPECT_TRUE(filter == before);
  EXPECT_TRUE(filter.RemoveLosingOthers("apple", ZeroedBits::kAllBits));
  EXPECT_EQ(filter.FillRatio(), 0);
}

// Many bits in few words, so that threads meet in them. Each round begins at once for both.
TEST(BloomFilter, ThreadsAddAtOnceAndNothingIsLost) {
  constexpr uint64_t kThreads = 2, kEach = 1000, kRounds = 200;
  const BloomFilterOptions options{4096, 1};
  for (uint64_t round = 0; round < kRounds; round++) {
    const uint64_t first = round * kThreads * kEach;
    BloomFilter filter(options);
    std::atomic<uint64_t> waiting{kThreads};
    const auto add = [&](uint64_t begin) {
      for (waiting--; waiting > 0;) std::this_thread::yield();
      for (uint64_t i = begin; i < begin + kEach; i++) {
        filter.AddHashConcurrently(TestHash(i));
        EXPECT_TRUE(filter.MayContainHash(TestHash(i)));
      }
      EXPECT_GT(filter.EstimateKeys().value, kEach / 2);
      EXPECT_TRUE(BloomFilter::Deserialize(filter.Serialize(), nullptr));
    };
    std::thread other(add, first + kEach);
    add(first);
    other.join();
    ASSERT_TRUE(filter == FilterOf(options, first, first + kThreads * kEach)) << round;
  }
}

// Add() has no fetch_or, but those who only ask need not wait for it.
TEST(BloomFilter, ThreadsAskWhileOneAdds) {
  BloomFilter filter(BloomFilterOptions::ForKeys(60000, 0.01));
  std::thread adding([&filter] {
    for (uint64_t i = 0; i < 60000; i++) filter.AddHash(TestHash(i));
  });
  int passed = 0;
  for (uint64_t i = 0; i < 60000; i++) passed += filter.MayContainHash(TestHash(i));
  EXPECT_LE(filter.FillRatio(), 1);
  adding.join();
  for (uint64_t i = 0; i < 60000; i++) EXPECT_TRUE(filter.MayContainHash(TestHash(i)));
  EXPECT_LE(passed, 60000);
}

TEST(BloomFilter, OptionsThatMakeNoSenseAreRefusedWithTheRemedy) {
  using testing::HasSubstr;
  EXPECT_THAT(InvalidArgumentOf([] {
                BloomFilter({0, 7});
              }),
              HasSubstr("bits is 0; give 1 to 2^48"));
  EXPECT_THAT(InvalidArgumentOf([] { BloomFilter({uint64_t{1} << 49, 7}); }), HasSubstr("bits is"));
  EXPECT_THAT(InvalidArgumentOf([] {
                BloomFilter({64, 0});
              }),
              HasSubstr("hashes is 0; give 1 to 64"));
  EXPECT_THAT(InvalidArgumentOf([] { BloomFilter({64, 65}); }), HasSubstr("hashes is 65"));
  EXPECT_THAT(InvalidArgumentOf([] {
                BloomFilter({64, 7, static_cast<BloomHashing>(9)});
              }),
              HasSubstr("hashing"));
  EXPECT_THAT(InvalidArgumentOf([] { BloomFilterOptions::ForKeys(0, 0.1); }),
              HasSubstr("keys is 0"));
  EXPECT_THAT(InvalidArgumentOf([] { BloomFilterOptions::ForKeys(1, 0); }),
              HasSubstr("0.01 for 1 %"));
  EXPECT_THAT(InvalidArgumentOf([] { BloomFilterOptions::ForKeys(1, 1); }),
              HasSubstr("0.01 for 1 %"));
  EXPECT_THAT(InvalidArgumentOf([] { BloomFilterOptions::ForKeys(1, NAN); }),
              HasSubstr("0.01 for 1 %"));
  EXPECT_THAT(InvalidArgumentOf([] { BloomFilterOptions::ForKeys(UINT64_MAX, 0.01); }),
              HasSubstr("2^48"));
}

}  // namespace
}  // namespace rocksieve
