// SPDX-License-Identifier: Apache-2.0
// Layers of Bloom filters for nobody knows how many keys: the rate is kept, at what price?
#include <rocksieve/dynamic/scalable_bloom_filter.h>

#include <cmath>
#include <cstdio>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

ScalableBloomFilterOptions Options(uint64_t initial_keys, double rate) {
  ScalableBloomFilterOptions options;
  options.initial_keys = initial_keys;
  options.false_positive_rate = rate;
  return options;
}

// From the first guess to 1,000 times as many keys: the rate stays below its bound, all keys are
// there, and the memory is what docs/toolbox.md says beside a filter that knew the number.
TEST(ScalableBloomFilter, KeepsItsBoundAtAThousandTimesTheFirstGuess) {
  constexpr uint64_t kFirstGuess = 300, kQueries = 50000;
  constexpr double kRate = 0.01;
  ScalableBloomFilter filter(Options(kFirstGuess, kRate));
  uint64_t added = 0;
  std::printf("   keys  layers  bytes/key  of an oracle  times  expected rate  observed\n");
  for (uint64_t times : {1, 3, 10, 30, 100, 300, 1000}) {
    const uint64_t keys = times * kFirstGuess;
    while (added < keys) filter.AddHash(TestHash(added++));
    uint64_t passed = 0;
    for (uint64_t i = 0; i < kQueries; i++) {
      passed += filter.MayContainHash(TestHash(10000000 + keys + i));
    }
    const double observed = static_cast<double>(passed) / kQueries;
    const double expected = filter.ExpectedFalsePositiveRate();
    const double bytes = static_cast<double>(filter.MemoryBytes());
    const double oracle =
        static_cast<double>(BloomFilter(BloomFilterOptions::ForKeys(keys, kRate)).MemoryBytes());
    std::printf("%7llu  %6zu  %9.2f  %12.2f  %5.2f  %12.2f%%  %7.2f%%\n",
                static_cast<unsigned long long>(keys), filter.layer_count(),
                bytes / static_cast<double>(keys), oracle / static_cast<double>(keys),
                bytes / oracle, expected * 100, observed * 100);
    EXPECT_LT(expected, kRate);
    EXPECT_LT(observed, kRate);
    EXPECT_NEAR(observed, expected, 5 * std::sqrt(kRate / kQueries));
    EXPECT_GT(bytes, oracle);
    EXPECT_LT(bytes, 3 * oracle);
    const Estimate estimate = filter.EstimateKeys();
    EXPECT_NEAR(estimate.value, static_cast<double>(keys), 5 * estimate.standard_error);
    EXPECT_LT(estimate.standard_error, 0.04 * static_cast<double>(keys));
  }
  EXPECT_EQ(filter.layer_count(), 10u);
  for (uint64_t i = 0; i < added; i++) ASSERT_TRUE(filter.MayContainHash(TestHash(i))) << i;
}

TEST(ScalableBloomFilter, KeepsItsBoundForOtherOptions) {
  for (double rate : {0.3, 0.001}) {
    for (int growth : {2, 4, 16}) {
      for (double tightening : {0.1, 0.5, 0.95}) {
        ScalableBloomFilterOptions options = Options(64, rate);
        options.growth = growth;
        options.tightening = tightening;
        ScalableBloomFilter filter(options);
        for (uint64_t i = 0; i < 3000; i++) filter.AddHash(TestHash(i));
        for (uint64_t i = 0; i < 3000; i++) ASSERT_TRUE(filter.MayContainHash(TestHash(i)));
        EXPECT_LT(filter.ExpectedFalsePositiveRate(), rate);
        int passed = 0;
        for (uint64_t i = 3000; i < 23000; i++) passed += filter.MayContainHash(TestHash(i));
        EXPECT_LT(passed, 20000 * rate + 5 * std::sqrt(20000 * rate));
      }
    }
  }
}

// A guess that was right takes no second layer, though chance sets more bits now and then.
TEST(ScalableBloomFilter, TheFirstLayerHoldsTheFirstGuess) {
  for (uint64_t keys : {64, 300, 3000}) {
    for (uint64_t begin = 0; begin < 100 * keys; begin += keys) {
      ScalableBloomFilter filter(Options(keys, 0.01));
      for (uint64_t i = begin; i < begin + keys; i++) filter.AddHash(TestHash(i));
      EXPECT_EQ(filter.layer_count(), 1u);
    }
  }
}

TEST(ScalableBloomFilter, RepetitionsCostNothing) {
  ScalableBloomFilter filter(Options(100, 0.01));
  EXPECT_FALSE(filter.MayContain("key1"));
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 80; i++) filter.Add("key" + std::to_string(i));
  }
  EXPECT_EQ(filter.layer_count(), 1u);
  EXPECT_NEAR(filter.EstimateKeys().value, 80, 5);
}

TEST(ScalableBloomFilter, OptionsThatMakeNoSenseAreRefusedWithTheRemedy) {
  using testing::HasSubstr;
  const auto error_of = [](auto change) {
    ScalableBloomFilterOptions options;
    change(options);
    return InvalidArgumentOf([&] { ScalableBloomFilter filter(options); });
  };
  EXPECT_THAT(error_of([](auto& o) { o.initial_keys = 63; }),
              HasSubstr("initial_keys is 63; give 64 to 2^36"));
  EXPECT_THAT(error_of([](auto& o) { o.initial_keys = UINT64_MAX; }), HasSubstr("initial_keys"));
  EXPECT_THAT(error_of([](auto& o) { o.false_positive_rate = 0; }), HasSubstr("0.01 for 1 %"));
  EXPECT_THAT(error_of([](auto& o) { o.false_positive_rate = NAN; }), HasSubstr("0.01 for 1 %"));
  EXPECT_THAT(error_of([](auto& o) { o.growth = 1; }), HasSubstr("growth is 1; give 2 to 16"));
  EXPECT_THAT(error_of([](auto& o) { o.tightening = 1; }), HasSubstr("give 0.1 to 0.95"));
  EXPECT_EQ(error_of([](auto&) {}), "");
}

}  // namespace
}  // namespace rocksieve
