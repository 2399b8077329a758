// SPDX-License-Identifier: Apache-2.0
// What two sides estimate of their sets: the number of differences, sizes and overlaps.
#include <cmath>
#include <optional>
#include <random>

#include <gtest/gtest.h>
#include <rocksieve/estimate/k_minimum_values.h>

#include "lib/sketch/estimators.h"
#include "support/text.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

// Sizes and overlaps from the smallest hashes, beside the true ones.

KMinimumValues KeepingSmallest(size_t k) {
  KMinimumValuesOptions options;
  options.k = k;
  return KMinimumValues(options);
}

struct Pair {
  KMinimumValues a, b;
};

Pair RandomPair(size_t k, size_t only_a, size_t only_b, size_t both, uint64_t seed) {
  std::mt19937_64 random(seed);
  Pair pair{KeepingSmallest(k), KeepingSmallest(k)};
  for (size_t i = 0; i < both; i++) {
    const uint64_t hash = random();
    pair.a.AddHash(hash);
    pair.b.AddHash(hash);
    if (i % 3 == 0) pair.b.AddHash(hash);
  }
  for (size_t i = 0; i < only_a; i++) pair.a.AddHash(random());
  for (size_t i = 0; i < only_b; i++) pair.b.AddHash(random());
  return pair;
}

TEST(Kmv, SmallSetsAreExact) {
  for (size_t n : {0, 1, 2, 20}) {
    const Pair pair = RandomPair(64, n, n + 3, 2 * n, n);
    const OverlapEstimate overlap = KMinimumValues::Overlap(pair.a, pair.b);
    const double d = static_cast<double>(n);
    EXPECT_EQ(overlap.a.value, 3 * d);
    EXPECT_EQ(overlap.b.value, 3 * d + 3);
    EXPECT_EQ(overlap.both.value, 2 * d);
    EXPECT_EQ(overlap.either.value, 4 * d + 3);
    EXPECT_EQ(overlap.jaccard.value, 2 * d / (4 * d + 3));
    for (const Estimate& e :
         {overlap.a, overlap.b, overlap.both, overlap.either, overlap.jaccard}) {
      EXPECT_EQ(e.standard_error, 0);
    }
  }
}

// Mean and spread of each number over many pairs, at full precision and after a journey.
TEST(Kmv, EstimatesAreUnbiasedWithTheStatedErrors) {
  struct Case {
    size_t only_a, only_b, both;
  };
  for (const Case& c : {Case{3000, 3000, 0}, Case{2000, 1000, 2000}, Case{100, 100, 5000},
                        Case{0, 0, 4000}, Case{20000, 0, 1500}}) {
    constexpr int kRounds = 200, kNumbers = 5;
    const double both = static_cast<double>(c.both), a = static_cast<double>(c.only_a) + both,
                 b = static_cast<double>(c.only_b) + both, either = a + b - both;
    const double truth[kNumbers] = {a, b, either, both, both / either};
    double sum[kNumbers] = {}, squares[kNumbers] = {}, stated[kNumbers] = {};
    for (int round = 0; round < kRounds; round++) {
      Pair pair =
          RandomPair(256, c.only_a, c.only_b, c.both, 1000 * c.both + static_cast<size_t>(round));
      if (round % 2) {
        const std::string bytes = pair.a.Serialize(12);
        EXPECT_LT(bytes.size(), 256 * 14 / 8 + 50);
        std::optional<KMinimumValues> read = KMinimumValues::Deserialize(bytes, nullptr);
        ASSERT_TRUE(read);
        pair.a = std::move(*read);
      }
      const OverlapEstimate overlap = KMinimumValues::Overlap(pair.a, pair.b);
      const Estimate all[kNumbers] = {overlap.a, overlap.b, overlap.either, overlap.both,
                                      overlap.jaccard};
      for (int i = 0; i < kNumbers; i++) {
        sum[i] += all[i].value;
        squares[i] += all[i].value * all[i].value;
        stated[i] += all[i].standard_error;
      }
    }
    for (int i = 0; i < kNumbers; i++) {
      const double mean = sum[i] / kRounds, error = stated[i] / kRounds;
      const double spread = std::sqrt(std::max(0.0, squares[i] / kRounds - mean * mean));
      // 12 bits: about one value in 4096 is taken for another.
      const double rounding = 0.0005 * (i < 4 ? either : 1.0);
      EXPECT_NEAR(mean, truth[i], 4 * error / std::sqrt(kRounds) + rounding)
          << i << " of " << c.only_a << ' ' << c.only_b << ' ' << c.both;
      EXPECT_LT(spread, 1.25 * error + rounding) << i << " of " << c.both;
      EXPECT_LT(error, 0.1 * std::max(a, b));
    }
  }
}

// Of sketches that were cut, and one of more keys: what is equal by chance counts neither as common
// nor as missing.
TEST(Kmv, CutSketchesBesideLargerOnes) {
  for (const int precision : {16, 8, 4, 1}) {
    for (const size_t only_b : {0, 1000, 300'000}) {
      Pair pair = RandomPair(1024, 0, only_b, 1000, only_b + 7);
      for (KMinimumValues* side : {&pair.a, &pair.b}) {
        *side = *KMinimumValues::Deserialize(side->Serialize(precision), nullptr);
        const OverlapEstimate overlap = KMinimumValues::Overlap(pair.a, pair.b);
        const double either = static_cast<double>(1000 + only_b);
        EXPECT_NEAR(overlap.either.value, either, 5 * overlap.either.standard_error + 1);
        EXPECT_LT(overlap.either.standard_error, 0.15 * either);
        EXPECT_NEAR(overlap.both.value, 1000, 5 * overlap.both.standard_error + 1);
        EXPECT_NEAR(overlap.a.value, 1000, 5 * overlap.a.standard_error + 1);
        KMinimumValues merged = pair.b;
        ASSERT_TRUE(merged.Merge(pair.a));
        EXPECT_NEAR(merged.DistinctCount().value, either,
                    (std::ldexp(1.0, -precision) + 0.2) * either)
            << precision << ' ' << only_b;
      }
    }
  }
  for (uint64_t seed = 0; seed < 200; seed++) {
    Pair pair = RandomPair(3, 10'000, 0, 0, seed);
    pair.a = *KMinimumValues::Deserialize(pair.a.Serialize(1), nullptr);
    EXPECT_GT(pair.a.DistinctCount().standard_error, 0) << seed;
  }
}

// Keys added to a sketch that was cut, until only few of its hashes are left; merged with itself,
// it says what it said.
TEST(Kmv, CutSketchesGrow) {
  for (const int precision : {8, 4, 1}) {
    for (const uint64_t before : {1, 100, 10'000}) {
      for (const uint64_t added : {100, 10'000, 100'000}) {
        std::mt19937_64 random(before + added);
        KMinimumValues sketch = KeepingSmallest(1024);
        for (uint64_t i = 0; i < before; i++) sketch.AddHash(random());
        sketch = *KMinimumValues::Deserialize(sketch.Serialize(precision), nullptr);
        for (uint64_t i = 0; i < added; i++) sketch.AddHash(random());
        const Estimate keys = sketch.DistinctCount();
        EXPECT_NEAR(keys.value, static_cast<double>(before + added), 4 * keys.standard_error)
            << precision;
        const KMinimumValues copy = sketch;
        ASSERT_TRUE(sketch.Merge(copy));
        EXPECT_EQ(sketch.DistinctCount().value, keys.value) << precision << ' ' << before;
      }
    }
  }
}

TEST(Kmv, GoldenBytes) {
  KMinimumValues sketch = KeepingSmallest(4);
  for (uint64_t i = 1; i <= 9; i++) sketch.AddHash(i * 0x9e3779b97f4a7c15);
  // Without the envelope, of 14 bytes and 8 behind, and the seed.
  const auto fields = [&sketch](int precision) {
    const std::string bytes = sketch.Serialize(precision);
    return bytes.substr(22, bytes.size() - 30);
  };
  EXPECT_EQ(HexBytes(fields(64)),
            "0400043ca5b1d1f17d8255dc82174104a725b3aa34363abe4fb08a5bf02288e0b4645601");
  EXPECT_EQ(HexBytes(fields(8)), "04350407e1b62a3715");
}

// The estimate of the number of differences: bias, spread, narrow counters.

struct CounterPair {
  DifferenceEstimator a, b;
};

// `common` keys on both sides and `differences` on one or the other.
CounterPair RandomCounterPair(size_t counters, uint64_t common, uint64_t differences,
                              uint64_t seed) {
  std::mt19937_64 random(seed);
  CounterPair pair{DifferenceEstimator(counters), DifferenceEstimator(counters)};
  for (uint64_t i = 0; i < common; i++) {
    const uint64_t hash = random();
    pair.a.Add(hash);
    pair.b.Add(hash);
  }
  for (uint64_t i = 0; i < differences; i++) (random() % 3 ? pair.a : pair.b).Add(random());
  return pair;
}

TEST(DifferenceEstimator, IsUnbiasedWithTheStatedSpread) {
  for (size_t counters : {256, 512}) {
    for (uint64_t differences : {0, 1, 2, 10, 300, 5000}) {
      constexpr int kRounds = 300;
      double sum = 0, squares = 0;
      for (int round = 0; round < kRounds; round++) {
        const uint64_t seed =
            counters * 1000003 + differences * 1009 + static_cast<uint64_t>(round);
        const CounterPair pair = RandomCounterPair(counters, 200, differences, seed);
        const double estimate = DifferenceEstimator::Estimate(pair.a, pair.b);
        sum += estimate;
        squares += estimate * estimate;
      }
      const double d = static_cast<double>(differences), mean = sum / kRounds;
      const double expected = std::sqrt(2 * d * (d - 1) / static_cast<double>(counters));
      const double spread = std::sqrt(std::max(0.0, squares / kRounds - mean * mean));
      EXPECT_NEAR(mean, d, 4 * expected / std::sqrt(kRounds) + 1e-9) << counters;
      if (differences == 2) continue;  // 4 or 0, and 4 is rare
      EXPECT_NEAR(spread, expected, 0.2 * expected + 1e-9) << counters << " D " << d;
    }
  }
}

TEST(DifferenceEstimator, NarrowCountersAreEnoughForTheirDifferences) {
  for (uint64_t differences : {0, 5, 100, 1000, 20000}) {
    const CounterPair pair = RandomCounterPair(256, 100000, differences, differences + 9);
    const double wide = DifferenceEstimator::Estimate(pair.a, pair.b);
    for (int width = 3; width <= pair.a.SufficientWidth(); width++) {
      std::string bytes;
      ByteWriter out(&bytes);
      pair.a.Write(width, &out);
      EXPECT_EQ(bytes.size(), 3u + 32u * static_cast<unsigned>(width));
      const ExactCopy copy(bytes);
      ByteReader in(copy.view());
      DifferenceEstimator received(256);
      ASSERT_TRUE(received.Read(&in));
      EXPECT_TRUE(in.Finished());
      // Enough: it holds 4 times the root mean square of the counters' differences, and some more.
      const double rms = std::sqrt((1.5 * static_cast<double>(differences) + 20) / 256);
      if (std::ldexp(1, width - 1) < 4 * rms) continue;
      EXPECT_EQ(DifferenceEstimator::Estimate(received, pair.b), wide)
          << differences << " at " << width;
    }
    EXPECT_LE(pair.a.SufficientWidth(), 9);
  }
}

TEST(DifferenceEstimator, GoldenBytes) {
  DifferenceEstimator estimator(8);
  for (uint64_t i = 1; i <= 40; i++) estimator.Add(i * 0x9e3779b97f4a7c15);
  std::string bytes;
  ByteWriter out(&bytes);
  estimator.Write(estimator.SufficientWidth(), &out);
  EXPECT_EQ(HexBytes(bytes), "0803381e04");
}

}  // namespace
}  // namespace rocksieve
