// SPDX-License-Identifier: Apache-2.0
// Counters instead of bits: beside a multiset that does the same.
#include <cmath>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <rocksieve/dynamic/counting_bloom_filter.h>
#include <rocksieve/dynamic/scalable_bloom_filter.h>

#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

BloomFilter BitsWith(const CountingBloomFilterOptions& options,
                     const std::map<uint64_t, uint64_t>& counts) {
  BloomFilterOptions bits;
  bits.bits = options.counters;
  bits.hashes = options.hashes;
  bits.hashing = options.hashing;
  bits.seed = options.seed;
  BloomFilter filter(bits);
  for (const auto& [number, count] : counts) {
    if (count > 0) filter.AddHash(TestHash(number));
  }
  return filter;
}

// Random additions and removals, in lockstep with a map. Whatever is done, the counters that are
// not 0 are the bits of the filter of the keys that are left.
TEST(CountingBloomFilter, DoesWhatAMultisetDoes) {
  for (int counter_bits : {4, 8}) {
    for (BloomHashing hashing :
         {BloomHashing::kIndependent, BloomHashing::kDouble, BloomHashing::kEnhancedDouble}) {
      CountingBloomFilterOptions options =
          CountingBloomFilterOptions::ForKeys(600, 0.01, counter_bits);
      options.hashing = hashing;
      options.counters |= 1;  // so that a word is not full
      CountingBloomFilter filter(options);
      std::map<uint64_t, uint64_t> truth;
      std::mt19937_64 random(2000);
      uint64_t too_high = 0, asked = 0;
      for (int step = 0; step < 6000; step++) {
        const uint64_t number = random() % 600;
        uint64_t& count = truth[number];
        if (random() % 2 == 0 && count < 2) {
          filter.AddHash(TestHash(number));
          count++;
        } else if (count > 0) {
          ASSERT_TRUE(filter.RemoveHash(TestHash(number)));
          count--;
        }
        const uint64_t other = random() % 600;
        const uint64_t seen = filter.CountHash(TestHash(other));
        ASSERT_GE(seen, truth[other]);
        EXPECT_EQ(seen != 0, filter.MayContainHash(TestHash(other)));
        too_high += seen > truth[other];
        asked++;
        if (step % 500 == 499) {
          EXPECT_TRUE(filter.ToBloomFilter() == BitsWith(options, truth)) << step;
        }
      }
      EXPECT_LT(too_high, asked / 20);
      EXPECT_EQ(filter.SaturatedCounters(), 0u);
      EXPECT_EQ(filter.refused_removals(), 0u);
      for (auto& [number, count] : truth) {
        for (; count > 0; count--) EXPECT_TRUE(filter.RemoveHash(TestHash(number)));
      }
      EXPECT_EQ(filter.FillRatio(), 0);
    }
  }
}

TEST(CountingBloomFilter, SaturatedCountersStickAndNeverMissAKey) {
  for (int counter_bits : {4, 8}) {
    CountingBloomFilter filter(CountingBloomFilterOptions::ForKeys(100, 0.01, counter_bits));
    const uint64_t most = filter.MostCount();
    EXPECT_EQ(most, counter_bits == 4 ? 15u : 255u);
    for (uint64_t i = 0; i < most + 10; i++) filter.Add("often");
    EXPECT_EQ(filter.Count("often"), most);
    EXPECT_GE(filter.SaturatedCounters(), 6u);
    for (int i = 0; i < 50; i++) filter.AddHash(TestHash(static_cast<uint64_t>(i)));
    // More removals than additions: nobody can tell, and others must not suffer.
    for (uint64_t i = 0; i < 2 * most; i++) EXPECT_TRUE(filter.Remove("often"));
    EXPECT_EQ(filter.Count("often"), most);
    for (int i = 0; i < 50; i++) {
      EXPECT_TRUE(filter.MayContainHash(TestHash(static_cast<uint64_t>(i))));
    }
  }
}

// A probe that comes twice for one key must count once: else one of two copies would stay.
TEST(CountingBloomFilter, TinyFiltersCountRight) {
  for (uint64_t counters : {1, 2, 3, 7}) {
    for (BloomHashing hashing :
         {BloomHashing::kIndependent, BloomHashing::kDouble, BloomHashing::kEnhancedDouble}) {
      CountingBloomFilter filter({counters, 7, 4, hashing, 0});
      filter.Add("apple");
      EXPECT_EQ(filter.Count("apple"), 1u);
      filter.Add("apple");
      EXPECT_EQ(filter.Count("apple"), 2u);
      EXPECT_TRUE(filter.Remove("apple"));
      EXPECT_EQ(filter.Count("apple"), 1u);
      EXPECT_TRUE(filter.Remove("apple"));
      EXPECT_FALSE(filter.Remove("apple"));
      EXPECT_EQ(filter.FillRatio(), 0);
    }
  }
}

// What Remove() can detect, and what it cannot.
TEST(CountingBloomFilter, RemovalOfWhatIsAbsentIsRefusedUnlessItPasses) {
  CountingBloomFilter filter(CountingBloomFilterOptions::ForKeys(1000, 0.01));
  for (uint64_t i = 0; i < 1000; i++) filter.AddHash(TestHash(i));
  const std::string before = filter.Serialize();
  uint64_t refused = 0, next = 1000;
  while (!filter.MayContainHash(TestHash(next))) {
    EXPECT_FALSE(filter.RemoveHash(TestHash(next++)));
    EXPECT_EQ(filter.refused_removals(), ++refused);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(filter.Serialize(), before);
  EXPECT_TRUE(filter.RemoveHash(TestHash(next)));  // passed by chance: no way to tell
  EXPECT_NE(filter.Serialize(), before);
  EXPECT_EQ(filter.refused_removals(), refused);
}

TEST(CountingBloomFilter, MergeAddsCounts) {
  const CountingBloomFilterOptions options = CountingBloomFilterOptions::ForKeys(1000, 0.01);
  CountingBloomFilter a(options), b(options), all(options);
  for (uint64_t i = 0; i < 600; i++) {
    a.AddHash(TestHash(i));
    b.AddHash(TestHash(i + 400));
    all.AddHash(TestHash(i));
    all.AddHash(TestHash(i + 400));
  }
  for (int i = 0; i < 9; i++) {
    for (CountingBloomFilter* filter : {&a, &b, &all}) filter->Add("often");
    all.Add("often");
  }
  EXPECT_TRUE(a.Merge(b));
  EXPECT_EQ(a.Serialize(), all.Serialize());
  EXPECT_EQ(a.Count("often"), 15u);
  CountingBloomFilterOptions other = options;
  other.counter_bits = 8;
  EXPECT_FALSE(a.Merge(CountingBloomFilter(other)));
  EXPECT_EQ(a.Serialize(), all.Serialize());
}

TEST(CountingBloomFilter, OptionsThatMakeNoSenseAreRefusedWithTheRemedy) {
  const auto make = [](const CountingBloomFilterOptions& options) {
    return [options] { CountingBloomFilter{options}; };
  };
  ExpectRefused({{make({100, 3, 5}), "counter_bits is 5; give 4, or 8"},
                 {make({0, 3}), "CountingBloomFilterOptions: counters is 0"},
                 {make({100, 99}), "hashes is 99"}});
}

}  // namespace

// Layers of Bloom filters for nobody knows how many keys: the rate is kept, at what price?

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

TEST(ScalableBloomFilter, OptionsThatMakeNoSenseAreRefusedWithTheRemedy) {
  using Options = ScalableBloomFilterOptions;
  const auto with = [](auto Options::*field, auto value) {
    Options options;
    options.*field = value;
    return [options] { ScalableBloomFilter{options}; };
  };
  ExpectRefused({{with(&Options::initial_keys, 63u), "initial_keys is 63; give 64 to 2^36"},
                 {with(&Options::initial_keys, UINT64_MAX), "initial_keys"},
                 {with(&Options::false_positive_rate, 1e-12), "is 1e-12; give"},
                 {with(&Options::false_positive_rate, NAN), "0.01 for 1 %"},
                 {with(&Options::growth, 1), "growth is 1; give 2 to 16"},
                 {with(&Options::tightening, 1), "give 0.1 to 0.95"}});
}

}  // namespace

}  // namespace rocksieve
