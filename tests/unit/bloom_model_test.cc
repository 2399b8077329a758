// The mathematics of the Bloom family against simulation.
#include "bloom/model.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "bloom/kernel.h"
#include "bloom/plan.h"

namespace rocksieve::bloom {
namespace {

constexpr int kProbeCounts[] = {1, 2, 3, 4, 5, 6, 8, 12, 16};

TEST(BloomModel, LaneFillIsWhatTheSeedChoiceReaches) {
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
      ActiveKernel().choose_seeds(masks, line);
      for (int lane = 0; lane < kLanes; lane++) {
        set_bits += std::popcount(LoadLittleEndian64(line + 8 * lane));
      }
    }
    const double fill = static_cast<double>(set_bits) / (64.0 * kLanes * kLines);
    EXPECT_NEAR(fill, LaneFill(throws), 0.002) << throws << " throws";
  }
}

TEST(BloomModel, SeedsBeatAPlainBloomFilter) {
  for (int throws = 2; throws < 400; throws++) {
    EXPECT_LT(LaneFill(throws), 1 - std::pow(63.0 / 64, throws)) << throws;
  }
}

TEST(BloomModel, MoreKeysMeanMoreFalsePositives) {
  for (int probes : kProbeCounts) {
    // The table is a simulation: its last digit may waver.
    for (int keys = 1; keys < 500; keys++) {
      EXPECT_GE(LinePassRate(probes, keys + 1), LinePassRate(probes, keys) * 0.999);
    }
    EXPECT_EQ(LinePassRate(probes, 0), 0);
    EXPECT_LE(LinePassRate(probes, 5000), 1);
  }
}

TEST(BloomModel, TheChosenProbesAreNearTheBest) {
  for (double bits = 1; bits <= 64; bits += 0.25) {
    double best = 1;
    for (int probes : kProbeCounts) {
      best = std::min(best, FalsePositiveRateOfManyLines(probes, 512 / bits));
    }
    const double chosen = FalsePositiveRateOfManyLines(ProbesFor(bits), 512 / bits);
    EXPECT_LE(chosen, best * 1.10) << bits << " bits per key";
  }
}

TEST(BloomModel, SmallFiltersApproachTheLimitOfManyLines) {
  const double limit = FalsePositiveRateOfManyLines(8, 51.2);
  EXPECT_NEAR(FalsePositiveRate({1000, 8}, 51200), limit, limit * 0.01);
  EXPECT_LT(FalsePositiveRate({1, 8}, 51), limit);  // no variance between lines
  EXPECT_EQ(FalsePositiveRate({0, 8}, 0), 0);
}

TEST(BloomModel, ARateIsReachedWithHardlyMoreThanItNeeds) {
  for (double rate : {0.5, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6}) {
    for (uint64_t keys : {1000, 20000, 1000000}) {
      const Plan plan = PlanFor(keys, PayloadBitsForRate(keys, rate));
      EXPECT_LE(FalsePositiveRate(plan, keys), rate * 1.002) << rate << ", " << keys;
      if (keys == 1000000) {
        EXPECT_GE(FalsePositiveRate(plan, keys), rate * 0.98);
      }
    }
  }
}

}  // namespace
}  // namespace rocksieve::bloom
