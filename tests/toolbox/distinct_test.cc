// SPDX-License-Identifier: Apache-2.0
// The three counters of distinct keys, and KMV's overlaps: measured beside what they state.
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include <rocksieve/estimate/hyper_log_log.h>
#include <rocksieve/estimate/k_minimum_values.h>

#include "lib/hash/mix.h"

namespace rocksieve {
namespace {

HyperLogLog MakeHyperLogLog(int precision, uint64_t seed = 0) {
  HyperLogLogOptions options;
  options.precision = precision;
  options.seed = seed;
  return HyperLogLog(options);
}

KMinimumValues MakeKMinimumValues(uint64_t k, uint64_t seed = 0) {
  KMinimumValuesOptions options;
  options.k = k;
  options.seed = seed;
  return KMinimumValues(options);
}

struct Measured {
  double bias, deviation, stated;  // shares of the truth
  size_t memory_bytes;
};

// Over many sets of so many keys, hashed by a generator that knows nothing of the counter.
template <typename Counter>
Measured Measure(const Counter& empty, uint64_t keys, int sets) {
  double sum = 0, squares = 0, stated = 0;
  size_t memory_bytes = 0;
  for (int set = 0; set < sets; set++) {
    Counter counter = empty;
    for (uint64_t i = 0; i < keys; i++) {
      counter.AddHash(SplitMix64(static_cast<uint64_t>(set) << 32, i));
    }
    memory_bytes = counter.MemoryBytes();
    const Estimate estimate = counter.DistinctCount();
    const double error = estimate.value / static_cast<double>(keys) - 1;
    sum += error;
    squares += error * error;
    stated += estimate.standard_error / static_cast<double>(keys);
  }
  const double bias = sum / sets;
  return {bias, std::sqrt(squares / sets - bias * bias), stated / sets, memory_bytes};
}

// Bias within what is documented, spread within what is stated: 5 sigma of the measurement more.
template <typename Counter>
void ExpectErrorAsStated(const char* name, const Counter& empty, double most_bias,
                         double least_spread) {
  constexpr int kSets = 800;
  for (const uint64_t keys : {10, 100, 400, 600, 800, 1000, 1500, 4000, 20000}) {
    const Measured measured = Measure(empty, keys, kSets);
    std::printf("%-16s %5zu bytes, %6d keys: bias %+.2f %%, error %.2f %%, stated %.2f %%\n", name,
                measured.memory_bytes, static_cast<int>(keys), 100 * measured.bias,
                100 * measured.deviation, 100 * measured.stated);
    EXPECT_LE(std::abs(measured.bias), most_bias + 5 * measured.deviation / std::sqrt(kSets));
    const double five_sigma = 5 / std::sqrt(2.0 * kSets);
    EXPECT_LE(measured.deviation, measured.stated * (1 + five_sigma) + 1e-12);
    if (keys >= 100) {
      EXPECT_GE(measured.deviation, measured.stated * (least_spread - five_sigma) - 1e-12);
    }
  }
}

TEST(DistinctCount, HyperLogLog) {
  ExpectErrorAsStated("HyperLogLog", MakeHyperLogLog(8), 0.025, 0.8);
}
TEST(DistinctCount, KMinimumValues) {
  ExpectErrorAsStated("KMinimumValues", MakeKMinimumValues(256), 0.001, 1);
}

template <typename Counter>
void ExpectCountsKeysOnceAndMerges(const Counter& empty) {
  Counter a = empty, b = empty, both = empty;
  for (int i = 0; i < 3000; i++) {
    const std::string key = "key" + std::to_string(i);
    if (i < 2000) a.Add(key);
    if (i >= 1000) b.AddHash(b.KeyHash(key));
    both.Add(key);
    both.Add(key);
  }
  EXPECT_NE(a.Serialize(), both.Serialize());
  EXPECT_TRUE(a.Merge(b));
  EXPECT_EQ(a.Serialize(), both.Serialize());
  EXPECT_EQ(empty.DistinctCount().value, 0);
  EXPECT_EQ(empty.DistinctCount().standard_error, 0);
  const Estimate count = both.DistinctCount();
  EXPECT_NEAR(count.value, 3000, 5 * count.standard_error);
  EXPECT_LT(count.standard_error, 300);
}

TEST(DistinctCount, KeysCountOnceAndMerge) {
  ExpectCountsKeysOnceAndMerges(MakeHyperLogLog(10, 5));
  ExpectCountsKeysOnceAndMerges(MakeKMinimumValues(512, 5));
}

// The same as from one thread; and no report of the thread sanitizer.
template <typename Counter>
void ExpectThreadsAdd(const Counter& empty) {
  constexpr uint64_t kThreads = 4, kKeys = 4000;
  Counter shared = empty, alone = empty;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&shared, t] {
      for (uint64_t i = 0; i < kKeys; i++) {
        shared.AddHashConcurrently(SplitMix64(7, t * kKeys / 2 + i));  // half of them twice
        if (i % 1000 == 0) shared.DistinctCount();
      }
      shared.Serialize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t i = 0; i < kKeys * (kThreads + 1) / 2; i++) alone.AddHash(SplitMix64(7, i));
  EXPECT_EQ(shared.Serialize(), alone.Serialize());
}

TEST(DistinctCount, ThreadsAddConcurrently) {
  ExpectThreadsAdd(MakeHyperLogLog(6));
}

TEST(DistinctCount, ExtremeHashesHaveTheirPlaces) {
  for (const uint64_t hash : {uint64_t{0}, UINT64_MAX, uint64_t{1} << 63, uint64_t{1}}) {
    for (const int precision : {4, 18}) {
      HyperLogLog sketch = MakeHyperLogLog(precision);
      sketch.AddHash(hash);
      EXPECT_NEAR(sketch.DistinctCount().value, 1, 0.04);
      EXPECT_TRUE(HyperLogLog::Deserialize(sketch.Serialize(), nullptr));
    }
  }
}

TEST(DistinctCount, RefusesWhatItCannotDo) {
  for (const int precision : {-1, 3, 19}) {
    EXPECT_THROW(MakeHyperLogLog(precision), std::invalid_argument);
  }
  for (const uint64_t k : {0, 2, 1048577}) {
    EXPECT_THROW(MakeKMinimumValues(k), std::invalid_argument);
  }
  EXPECT_FALSE(MakeHyperLogLog(8).Merge(MakeHyperLogLog(9)));
  EXPECT_FALSE(MakeHyperLogLog(8).Merge(MakeHyperLogLog(8, 1)));
  EXPECT_FALSE(MakeKMinimumValues(8).Merge(MakeKMinimumValues(8, 1)));
  EXPECT_THROW(KMinimumValues::Overlap(MakeKMinimumValues(8), MakeKMinimumValues(8, 1)),
               std::invalid_argument);
  EXPECT_THROW(MakeKMinimumValues(8).Serialize(0), std::invalid_argument);
  EXPECT_THROW(MakeKMinimumValues(8).Serialize(65), std::invalid_argument);
}

// The sketch behind it is tested in unit/estimators_test.cc; here the keys' way through it.
// The least that keeps a standard error: the formulas are those of the headers.
TEST(DistinctCount, OptionsForAnError) {
  for (const double error : {0.5, 0.1, 0.03, 0.01, 0.0021}) {
    const int precision = HyperLogLogOptions::ForError(error).precision;
    const auto error_of = [](int log2) { return 1.04 / std::sqrt(std::ldexp(1.0, log2)); };
    EXPECT_LE(error_of(precision), error);
    EXPECT_TRUE(precision == 4 || error_of(precision - 1) > error) << error;
    const auto k = static_cast<double>(KMinimumValuesOptions::ForError(error).k);
    EXPECT_LE(1 / std::sqrt(k), error * (1 + 1e-9));
    EXPECT_GT(1 / std::sqrt(k - 1), error);
  }
  EXPECT_EQ(KMinimumValuesOptions::ForError(0.01).k, 10000u);
  EXPECT_EQ(KMinimumValuesOptions::ForError(0.001).k, 1000000u);
  EXPECT_EQ(KMinimumValuesOptions::ForError(0.99).k, 3u);
  EXPECT_EQ(HyperLogLogOptions::ForError(0.99).precision, 4);
  for (const double error : {0.0, -0.1, 1.0, 1e-300, 0.0009, std::nan("")}) {
    EXPECT_THROW(HyperLogLogOptions::ForError(error), std::invalid_argument) << error;
    EXPECT_THROW(KMinimumValuesOptions::ForError(error), std::invalid_argument) << error;
  }
}

TEST(KMinimumValues, OverlapOfKeysBeforeAndAfterAJourney) {
  KMinimumValues a = MakeKMinimumValues(2048, 3), b = MakeKMinimumValues(1024, 3);
  for (int i = 0; i < 30000; i++) {
    if (i < 20000) a.Add("key" + std::to_string(i));
    if (i >= 10000) b.Add("key" + std::to_string(i));
  }
  const std::string whole = b.Serialize(), rounded = b.Serialize(12);
  EXPECT_LT(rounded.size(), whole.size() / 3);
  for (const std::string& bytes : {whole, rounded}) {
    const std::optional<KMinimumValues> read = KMinimumValues::Deserialize(bytes, nullptr);
    ASSERT_TRUE(read);
    const OverlapEstimate overlap = KMinimumValues::Overlap(a, *read);
    const auto expect_near = [](const Estimate& estimate, double truth) {
      EXPECT_NEAR(estimate.value, truth, 5 * estimate.standard_error);
      EXPECT_LT(estimate.standard_error, 0.1 * truth);
    };
    expect_near(overlap.a, 20000);
    expect_near(overlap.b, 20000);
    expect_near(overlap.both, 10000);
    expect_near(overlap.either, 30000);
    expect_near(overlap.jaccard, 1.0 / 3);
  }
  KMinimumValues copy = a;
  copy = b;
  EXPECT_EQ(copy.Serialize(), b.Serialize());
  EXPECT_EQ(copy.options().k, 1024u);
  EXPECT_TRUE(a.Merge(b));
  EXPECT_EQ(a.options().k, 1024u);
}

}  // namespace
}  // namespace rocksieve
