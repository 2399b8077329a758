// The mathematics of the ribbon family.
#include "lib/ribbon/model.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lib/ribbon/directory.h"
#include "lib/ribbon/plan.h"

namespace rocksieve::ribbon {
namespace {

TEST(RibbonModel, IsTheTextbookRateForWholeWidths) {
  for (int columns = 1; columns <= 32; columns++) {
    EXPECT_EQ(FalsePositiveRate(columns, 0), std::ldexp(1.0, -columns));
    EXPECT_EQ(FalsePositiveRate(columns, 1), FalsePositiveRate(columns + 1, 0));
    EXPECT_DOUBLE_EQ(WidthForRate(std::ldexp(1.0, -columns)), columns);
  }
}

TEST(RibbonModel, WidthsAndRatesAreInverse) {
  for (double rate = 0.5; rate > 1e-9; rate *= 0.97) {
    const double width = WidthForRate(rate);
    const int columns = static_cast<int>(width);
    EXPECT_NEAR(FalsePositiveRate(columns, width - columns), rate, 1e-9 * rate);
  }
}

TEST(RibbonModel, ARateIsReachedWithHardlyMoreThanItNeeds) {
  for (double rate : {0.5, 0.3, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6}) {
    for (uint64_t keys : {10, 1000, 1000000}) {
      Budget budget;
      budget.is_rate = true;
      budget.amount = rate;
      const double reached = ExpectedRate(keys, PlanFor(keys, budget));
      EXPECT_LE(reached, rate * 1.0001);
      EXPECT_GE(reached, rate * (keys <= kMaxSmallKeys ? 0.5 : 0.97));
    }
  }
}

TEST(RibbonPlan, SpendsTheBudget) {
  for (uint64_t keys : {1000, 100000}) {
    for (double bits = 1.2; bits <= kMaxBitsPerKey; bits += 0.37) {
      Budget budget;
      budget.amount = bits;
      const Plan plan = PlanFor(keys, budget);
      // What the directory takes beyond 3 % of a small budget comes on top.
      const double spent = ExpectedPayloadBits(keys, plan) / static_cast<double>(keys);
      EXPECT_LE(spent, bits + 0.25);
      EXPECT_GE(spent, std::min(bits, 31.9) - 0.001);
    }
  }
}

TEST(RibbonPlan, BucketsHardlyStrayFromTheirNominalLengthUnderAnAnchor) {
  for (uint64_t keys = kMaxSmallKeys + 1; keys < 1000000000; keys += keys / 50 + 1) {
    const auto buckets = static_cast<double>(BucketsFor(keys));
    const double groups_per_bucket = ExpectedSlots(keys) / kSlotsPerGroup / buckets;
    const double anchored = std::min<double>(buckets, kBucketsPerAnchor);
    // The directory holds 255; keys that come unevenly take up to a hundred of them.
    EXPECT_LT(std::abs(groups_per_bucket - kNominalGroups) * anchored, 150) << keys << " keys";
  }
}

}  // namespace
}  // namespace rocksieve::ribbon
