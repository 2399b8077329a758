// The curves of all families, beside filters that are really built.
#include <cmath>

#include <gtest/gtest.h>

#include "lib/budget/rate_curve.h"
#include "lib/filter/family.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

TEST(RateCurve, RisesInBitsAndFallsInRate) {
  for (const FamilyEntry* family : AllFamilies()) {
    for (const uint64_t keys : {1u, 64u, 65u, 1000u, 100000u}) {
      SCOPED_TRACE(std::string(family->name) + " " + std::to_string(keys));
      const std::vector<RatePoint> curve = RateCurve(family->family, keys);
      ASSERT_FALSE(curve.empty());
      for (size_t i = 1; i < curve.size(); i++) {
        EXPECT_GT(curve[i].bits_per_key, curve[i - 1].bits_per_key);
        EXPECT_LE(curve[i].rate, curve[i - 1].rate);
      }
    }
  }
}

TEST(RateCurve, NoFilterIsOnePoint) {
  const std::vector<RatePoint> curve = RateCurve(Family::kNone, 1000);
  ASSERT_EQ(curve.size(), 1u);
  EXPECT_EQ(curve[0].bits_per_key, 0);
  EXPECT_EQ(curve[0].rate, 1);
}

// Builds what the curve's points ask for.
TEST(RateCurve, IsWhatFiltersTake) {
  for (const Family family : {Family::kBloom, Family::kCuckoo, Family::kRibbon}) {
    for (const size_t keys : {200u, 5000u, 50000u}) {
      const std::vector<std::string> names = NumberedKeys(keys);
      const std::vector<RatePoint> curve = RateCurve(family, keys);
      for (size_t i = 3; i < curve.size(); i += 7) {
        FilterSpec spec;
        spec.family = family;
        spec.amount = curve[i].setting;
        SCOPED_TRACE(spec.ToString() + " of " + std::to_string(keys));
        const FilterBlock block = BuildFilter(spec, names);
        const double bits = 8.0 * static_cast<double>(block.size) / static_cast<double>(keys);
        EXPECT_NEAR(bits, curve[i].bits_per_key, 0.04 * bits + 500.0 / static_cast<double>(keys));
        const double rate = ExpectedFalsePositiveRate(OpenFilter(block.view()).info);
        if (keys >= 5000) {
          EXPECT_NEAR(rate / curve[i].rate, 1, keys == 5000 ? 0.25 : 0.08);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rocksieve
