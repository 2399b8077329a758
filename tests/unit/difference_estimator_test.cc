// The estimate of the number of differences: bias, spread, narrow counters.
#include "lib/sketch/difference_estimator.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "support/printable.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

struct Pair {
  DifferenceEstimator a, b;
};

// `common` keys on both sides and `differences` on one or the other.
Pair RandomPair(size_t counters, uint64_t common, uint64_t differences, uint64_t seed) {
  std::mt19937_64 random(seed);
  Pair pair{DifferenceEstimator(counters), DifferenceEstimator(counters)};
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
      double sum = 0, squares = 0, stated = 0;
      for (int round = 0; round < kRounds; round++) {
        const uint64_t seed =
            counters * 1000003 + differences * 1009 + static_cast<uint64_t>(round);
        const Pair pair = RandomPair(counters, 200, differences, seed);
        const DifferenceEstimate estimate = DifferenceEstimator::Estimate(pair.a, pair.b);
        EXPECT_FALSE(estimate.saturated);
        sum += estimate.differences;
        squares += estimate.differences * estimate.differences;
        stated += estimate.standard_error;
      }
      const double d = static_cast<double>(differences), mean = sum / kRounds;
      const double expected = std::sqrt(2 * d * (d - 1) / static_cast<double>(counters));
      const double spread = std::sqrt(std::max(0.0, squares / kRounds - mean * mean));
      EXPECT_NEAR(mean, d, 4 * expected / std::sqrt(kRounds) + 1e-9) << counters;
      if (differences == 2) continue;  // 4 or 0, and 4 is rare
      EXPECT_NEAR(spread, expected, 0.2 * expected + 1e-9) << counters << " D " << d;
      EXPECT_NEAR(stated / kRounds, expected, 0.05 * expected + 0.5) << counters << " D " << d;
    }
  }
}

// From equal sets to sets that share nothing.
TEST(DifferenceEstimator, FollowsTheOverlap) {
  for (uint64_t common = 0; common <= 50000; common += 12500) {
    const uint64_t differences = 2 * (50000 - common);
    const Pair pair = RandomPair(512, common, differences, common + 5);
    const DifferenceEstimate estimate = DifferenceEstimator::Estimate(pair.a, pair.b);
    const double d = static_cast<double>(differences);
    EXPECT_NEAR(estimate.differences, d, 4 * std::sqrt(2.0 / 512) * d);
  }
}

TEST(DifferenceEstimator, NarrowCountersAreEnoughForTheirDifferences) {
  for (uint64_t differences : {0, 5, 100, 1000, 20000}) {
    const Pair pair = RandomPair(256, 100000, differences, differences + 9);
    const DifferenceEstimate wide = DifferenceEstimator::Estimate(pair.a, pair.b);
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
      const DifferenceEstimate narrow = DifferenceEstimator::Estimate(received, pair.b);
      const int enough =
          DifferenceEstimator::WidthFor(1.5 * static_cast<double>(differences) + 20, 256);
      EXPECT_TRUE(width < enough || !narrow.saturated) << differences << " at " << width;
      EXPECT_TRUE(width > enough - 3 || narrow.saturated) << differences << " at " << width;
      EXPECT_TRUE(narrow.saturated || narrow.differences == wide.differences);
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

TEST(DifferenceEstimator, DamagedBytes) {
  std::mt19937_64 random(17);
  const Pair pair = RandomPair(64, 0, 500, 3);
  std::string intact;
  ByteWriter out(&intact);
  pair.a.Write(pair.a.SufficientWidth(), &out);
  for (int round = 0; round < 5000; round++) {
    std::string bytes = intact;
    bytes[random() % 4] = static_cast<char>(random());
    if (round % 2) bytes.resize(random() % bytes.size());
    const ExactCopy copy(bytes);
    ByteReader in(copy.view());
    DifferenceEstimator received(64);
    if (received.Read(&in)) DifferenceEstimator::Estimate(received, pair.b);
    ByteReader other(intact);
    DifferenceEstimator more(65);
    EXPECT_FALSE(more.Read(&other));
  }
}

}  // namespace
}  // namespace rocksieve
