// The mathematics of the Bloom family against simulation.
#include "lib/bloom/model.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "lib/bloom/kernel.h"
#include "lib/bloom/plan.h"

namespace rocksieve::bloom {
namespace {

constexpr int kSomeProbeCounts[] = {1, 2, 3, 4, 5, 6, 8, 12, 16};

class BloomModelOf : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(UsualAndThorough, BloomModelOf, ::testing::Bool());

TEST_P(BloomModelOf, LaneFillIsWhatTheSeedChoiceReaches) {
  const bool thorough = GetParam();
  const auto choose_seeds =
      thorough ? ActiveKernel().choose_seeds_thoroughly : ActiveKernel().choose_seeds;
  std::mt19937_64 random(21);
  for (int throws : {0, 1, 2, 5, 20, 51, 64, 100, 200, 255}) {
    constexpr int kLines = 1500;
    uint64_t set_bits = 0;
    for (int i = 0; i < kLines; i++) {
      LineMasks masks;
      std::memset(masks, 0, sizeof(masks));
      for (int lane = 0; lane < kLanes; lane++) {
        for (int n = 0; n < throws; n++) {
          const uint64_t r = random();
          masks[r >> 61][lane] |= uint64_t{1} << (r & 63);
        }
      }
      uint8_t line[kLineBytes];
      choose_seeds(masks, line);
      for (int lane = 0; lane < kLanes; lane++) {
        set_bits += std::popcount(LoadLittleEndian64(line + 8 * lane));
      }
    }
    const double fill = static_cast<double>(set_bits) / (64.0 * kLanes * kLines);
    EXPECT_NEAR(fill, LaneFill(throws, thorough), 0.002) << throws << " throws";
  }
}

TEST(BloomModel, SeedsBeatAPlainBloomFilter) {
  for (int throws = 2; throws < 400; throws++) {
    EXPECT_LT(LaneFill(throws, false), 1 - std::pow(63.0 / 64, throws)) << throws;
    EXPECT_LE(LaneFill(throws, true), LaneFill(throws, false) + 1e-5) << throws;
  }
}

TEST_P(BloomModelOf, MoreKeysMeanMoreFalsePositives) {
  const bool thorough = GetParam();
  for (int probes : kSomeProbeCounts) {
    // The table is a simulation: its last digit may waver.
    for (int keys = 1; keys < 500; keys++) {
      EXPECT_GE(LinePassRate(probes, thorough, keys + 1),
                LinePassRate(probes, thorough, keys) * 0.999);
    }
    EXPECT_EQ(LinePassRate(probes, thorough, 0), 0);
    EXPECT_LE(LinePassRate(probes, thorough, 5000), 1);
  }
}

TEST(BloomModel, TheChosenProbesAreNearTheBest) {
  for (double bits = 1; bits <= 64; bits += 0.25) {
    double best = 1;
    for (int probes : kSomeProbeCounts) {
      best = std::min(best, FalsePositiveRateOfManyLines(probes, false, 512 / bits));
    }
    const double chosen = FalsePositiveRateOfManyLines(ProbesFor(bits), false, 512 / bits);
    EXPECT_LE(chosen, best * 1.10) << bits << " bits per key";
  }
}

TEST(BloomModel, SmallFiltersApproachTheLimitOfManyLines) {
  const double limit = FalsePositiveRateOfManyLines(8, false, 51.2);
  EXPECT_NEAR(FalsePositiveRate({1000, 8}, 51200), limit, limit * 0.01);
  EXPECT_LT(FalsePositiveRate({1, 8}, 51), limit);  // no variance between lines
  EXPECT_EQ(FalsePositiveRate({0, 8}, 0), 0);
}

TEST_P(BloomModelOf, ARateIsReachedWithHardlyMoreThanItNeeds) {
  for (double rate : {0.5, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6}) {
    for (uint64_t keys : {1000, 20000, 1000000}) {
      Budget budget;
      budget.is_rate = true;
      budget.amount = rate;
      budget.thorough = GetParam();
      const Plan plan = PlanFor(keys, budget);
      EXPECT_LE(FalsePositiveRate(plan, keys), rate * 1.005) << rate << ", " << keys;
      if (keys == 1000000) {
        EXPECT_GE(FalsePositiveRate(plan, keys), rate * 0.98);
      }
    }
  }
}

}  // namespace
}  // namespace rocksieve::bloom
