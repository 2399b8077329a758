// SPDX-License-Identifier: Apache-2.0
// Count-min sketch and top-k: what they promise of each count, on random and on real streams.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <rocksieve/estimate/count_min_sketch.h>
#include <rocksieve/estimate/hyper_log_log.h>
#include <rocksieve/estimate/k_minimum_values.h>
#include <rocksieve/estimate/top_k.h>

#include "lib/hash/mix.h"

namespace rocksieve {
namespace {

using Truth = std::map<std::string, uint64_t>;
using Stream = std::vector<std::pair<std::string, uint64_t>>;

constexpr uint64_t kRounds = 300;

// Up to 60 keys of 16, so that they come again, with counts that may be 0.
Stream RandomStream(std::mt19937_64* random) {
  Stream stream((*random)() % 60);
  for (auto& [key, count] : stream) {
    key = std::to_string((*random)() % 16);
    count = (*random)() % 8;
  }
  return stream;
}

CountMinOptions CountMin(uint64_t width, uint64_t depth, bool conservative, uint64_t seed = 0) {
  CountMinOptions options;
  options.width = width;
  options.depth = depth;
  options.conservative = conservative;
  options.seed = seed;
  return options;
}

TEST(CountMin, OptionsForAnError) {
  const CountMinOptions options = CountMinOptions::ForError(0.001, 0.01);
  EXPECT_EQ(options.width, 2719u);
  EXPECT_EQ(options.depth, 5u);
  EXPECT_THROW(CountMinOptions::ForError(0, 0.5), std::invalid_argument);
  EXPECT_THROW(CountMinOptions::ForError(1e-10, 0.5), std::invalid_argument);
  EXPECT_THROW(CountMinOptions::ForError(std::nan(""), 0.5), std::invalid_argument);
  EXPECT_THROW(CountMinOptions::ForError(0.5, 1), std::invalid_argument);
  EXPECT_THROW(CountMinSketch(CountMin(0, 1, false)), std::invalid_argument);
  EXPECT_THROW(CountMinSketch(CountMin(1, 65, false)), std::invalid_argument);
}

// Just so few and heavy keys that to meet one of them is to exceed the bound: the worst case, or
// nearly. A row has one there with probability 1 - (1 - 1 / w)^heavy = 0.31, which must not exceed
// 1 / e = 0.37, and d rows have with the d-th power of it.
TEST(CountMin, ErrorBoundHoldsWithItsProbabilityInTheWorstCase) {
  constexpr uint64_t kWidth = 272, kHeavy = 99, kSeeds = 60, kProbes = 2000;
  for (const uint64_t depth : {1, 2, 3, 4}) {
    int exceeded = 0;
    double bound = 0;
    for (uint64_t seed = 0; seed < kSeeds; seed++) {
      CountMinSketch sketch(CountMin(kWidth, depth, false, seed));
      for (uint64_t i = 0; i < kHeavy; i++) sketch.Add("heavy" + std::to_string(i), 1000);
      bound = sketch.FailureProbability();
      for (uint64_t i = 0; i < kProbes; i++) {
        exceeded +=
            static_cast<double>(sketch.Count("probe" + std::to_string(i))) > sketch.ErrorBound();
      }
    }
    const double rate = exceeded / static_cast<double>(kSeeds * kProbes);
    const double expected = std::pow(1 - std::pow(1 - 1.0 / kWidth, kHeavy), depth);
    EXPECT_LE(rate, bound);
    EXPECT_NEAR(rate, expected, 0.15 * expected);
  }
}

TEST(CountMin, NeverTooLowAndMergesLikeOneStream) {
  for (uint64_t round = 0; round < kRounds; round++) {
    SCOPED_TRACE(round);
    std::mt19937_64 random(round);
    const bool conservative = round % 2 == 1;
    const CountMinOptions options = CountMin(7, 3, conservative, round);
    CountMinSketch a(options), b(options), whole(options);
    Truth truth;
    Stream stream = RandomStream(&random);
    const size_t of_a = stream.empty() ? 0 : random() % stream.size();
    for (size_t i = 0; i < stream.size(); i++) {
      const auto& [key, count] = stream[i];
      ASSERT_TRUE((i < of_a ? a : b).Add(key, count));
      ASSERT_TRUE(whole.Add(key, count));
      truth[key] += count;
    }
    ASSERT_TRUE(a.Merge(b));
    ASSERT_EQ(a.total(), whole.total());
    for (const auto& [key, count] : truth) {
      ASSERT_GE(a.Count(key), count);
      ASSERT_GE(whole.Count(key), count);
    }
    const std::optional<CountMinSketch> read = CountMinSketch::Deserialize(a.Serialize(), nullptr);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->Serialize(), a.Serialize());
    if (conservative) continue;
    ASSERT_EQ(a.Serialize(), whole.Serialize());
    std::shuffle(stream.begin(), stream.end(), random);
    for (const auto& [key, count] : stream) ASSERT_TRUE(a.Remove(key, count));
    ASSERT_EQ(a.Serialize(), CountMinSketch(options).Serialize());
  }
}

TEST(CountMin, RefusesWhatItCannotDo) {
  CountMinSketch sketch(CountMin(100, 3, false));
  EXPECT_TRUE(sketch.Add("apple", 5));
  const std::string before = sketch.Serialize();
  EXPECT_FALSE(sketch.Remove("apple", 6));
  EXPECT_FALSE(sketch.Remove("pear"));
  EXPECT_FALSE(sketch.Add("pear", UINT64_MAX - 4));
  EXPECT_FALSE(sketch.Merge(CountMinSketch(CountMin(100, 4, false))));
  EXPECT_FALSE(sketch.Merge(CountMinSketch(CountMin(100, 3, true))));
  EXPECT_FALSE(sketch.Merge(CountMinSketch(CountMin(100, 3, false, 1))));
  CountMinSketch full(CountMin(100, 3, false));
  EXPECT_TRUE(full.Add("pear", UINT64_MAX - 4));
  EXPECT_FALSE(sketch.Merge(full));
  EXPECT_EQ(sketch.Serialize(), before);
  CountMinSketch conservative(CountMin(100, 3, true));
  EXPECT_THROW(conservative.Remove("apple"), std::logic_error);
}

TopKOptions TopKOf(uint64_t counters, uint64_t seed = 0) {
  TopKOptions options;
  options.counters = counters;
  options.seed = seed;
  return options;
}

// All that top_k.h promises.
void ExpectTells(const TopK& summary, const Truth& truth) {
  uint64_t total = 0;
  for (const auto& entry : truth) total += entry.second;
  ASSERT_EQ(summary.total(), total);
  const uint64_t bound = total / summary.options().counters;
  EXPECT_LE(summary.ErrorBound(), bound);
  Truth told;
  const std::vector<TopK::Item> items = summary.Top(SIZE_MAX);
  for (size_t i = 0; i < items.size(); i++) {
    const TopK::Item& item = items[i];
    if (i > 0) {
      EXPECT_GE(items[i - 1].count, item.count);
    }
    const auto it = truth.find(item.key);
    ASSERT_NE(it, truth.end()) << item.key;
    EXPECT_GE(item.count, it->second);
    EXPECT_LE(item.count - item.error, it->second);
    EXPECT_LE(item.error, summary.ErrorBound());
    told[item.key] = item.count;
  }
  EXPECT_EQ(told.size(), std::min<uint64_t>(summary.options().counters, truth.size()));
  for (const auto& [key, count] : truth) {
    EXPECT_GE(summary.Count(key), count);
    EXPECT_EQ(summary.Count(key), told.contains(key) ? told[key] : summary.ErrorBound());
    if (count > bound) {
      EXPECT_TRUE(told.contains(key)) << key;
    }
  }
}

TEST(TopK, KeepsItsBoundsThroughStreamsMergesAndBytes) {
  for (uint64_t round = 0; round < kRounds && !HasFailure(); round++) {
    SCOPED_TRACE(round);
    std::mt19937_64 random(round);
    const TopKOptions options = TopKOf(1 + random() % 20, round);
    Truth truth;
    const auto add = [&truth](const Stream& stream, TopK* to) {
      for (const auto& [key, count] : stream) {
        EXPECT_TRUE(to->Add(key, count));
        if (count > 0) truth[key] += count;
      }
    };
    TopK a(options), b(options);
    add(RandomStream(&random), &a);
    ExpectTells(a, truth);
    add(RandomStream(&random), &b);
    ASSERT_TRUE(a.Merge(b));
    ExpectTells(a, truth);
    std::optional<TopK> read = TopK::Deserialize(a.Serialize(), nullptr);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->Serialize(), a.Serialize());
    const Stream more = RandomStream(&random);
    for (const auto& [key, count] : more) read->Add(key, count);
    add(more, &a);
    ExpectTells(a, truth);
    ASSERT_EQ(read->Serialize(), a.Serialize());  // what was read goes on in the same way
  }
}

TEST(TopK, RefusesWhatItCannotDo) {
  EXPECT_THROW(TopK(TopKOf(0)), std::invalid_argument);
  TopK summary(TopKOf(3));
  summary.Add("apple", 5);
  EXPECT_FALSE(summary.Add("pear", UINT64_MAX - 4));
  EXPECT_FALSE(summary.Merge(TopK(TopKOf(4))));
  EXPECT_FALSE(summary.Merge(TopK(TopKOf(3, 1))));
  EXPECT_EQ(summary.Count("apple"), 5u);
  EXPECT_EQ(summary.Count("pear"), 0u);
  EXPECT_EQ(summary.total(), 5u);
}

}  // namespace

// The three counters of distinct keys, and KMV's overlaps: measured beside what they state.

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

// Over many sets of so many keys, hashed by a generator that knows nothing of the counter: bias
// within what is documented, spread within what is stated, and 5 sigma of the measurement more.
// (KMinimumValues: unit/estimators_test.cc.)
TEST(DistinctCount, HasTheErrorThatIsStated) {
  constexpr int kSets = 800;
  for (const uint64_t keys : {10, 100, 400, 600, 800, 1000, 1500, 4000, 20000}) {
    double sum = 0, squares = 0, stated = 0;
    for (uint64_t set = 0; set < kSets; set++) {
      HyperLogLog counter = MakeHyperLogLog(8);
      for (uint64_t i = 0; i < keys; i++) counter.AddHash(SplitMix64(set << 32, i));
      const Estimate estimate = counter.DistinctCount();
      const double error = estimate.value / static_cast<double>(keys) - 1;
      sum += error / kSets;
      squares += error * error / kSets;
      stated += estimate.standard_error / static_cast<double>(keys) / kSets;
    }
    const double deviation = std::sqrt(squares - sum * sum);
    const double five_sigma = 5 / std::sqrt(2.0 * kSets);
    EXPECT_LE(std::abs(sum), 0.025 + 5 * deviation / std::sqrt(kSets)) << keys;
    EXPECT_LE(deviation, stated * (1 + five_sigma) + 1e-12) << keys;
    if (keys >= 100) {
      EXPECT_GE(deviation, stated * (0.8 - five_sigma) - 1e-12) << keys;
    }
  }
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
TEST(DistinctCount, ThreadsAddConcurrently) {
  constexpr uint64_t kThreads = 4, kKeys = 4000;
  HyperLogLog shared = MakeHyperLogLog(6), alone = shared;
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

}  // namespace

}  // namespace rocksieve
