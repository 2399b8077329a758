// SPDX-License-Identifier: Apache-2.0
// The curves of all families, and the hull of several.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "lib/budget/hull.h"
#include "lib/filter/family.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

// The curves of all families, beside filters that are really built.

TEST(RateCurve, RisesInBitsAndFallsInRate) {
  for (const FamilyEntry* family : {&kBloomFamily, &kCuckooFamily, &kRibbonFamily, &kRangeFamily}) {
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

// The hull of several families, beside a search of all their points.

const std::vector<Family> kOurs = {Family::kBloom, Family::kCuckoo, Family::kRibbon};
const std::vector<Family> kTwo = {Family::kBloom, Family::kCuckoo};

class HullOf : public testing::TestWithParam<std::tuple<std::vector<Family>, uint64_t>> {
 protected:
  HullOf() {
    for (const Family family : families_) curves_.push_back(RateCurve(family, keys_));
  }

  const CostModel costs_;
  const std::vector<Family> families_ = std::get<0>(GetParam());
  const uint64_t keys_ = std::get<1>(GetParam());
  const Hull hull_{families_, keys_, costs_};

  // The least cost + price * bits of all points of all families.
  double LeastByHand(double price) const {
    double least = 1 + price * hull_.fixed_bits();  // no filter
    for (size_t i = 0; i < families_.size(); i++) {
      for (const RatePoint& point : curves_[i]) {
        least = std::min(
            least, point.rate + costs_.ProbeCharge(families_[i]) + price * point.bits_per_key);
      }
    }
    return least;
  }

  std::vector<std::vector<RatePoint>> curves_;
};

TEST_P(HullOf, BitsAreTheBestForThePrice) {
  double last_bits = 1e9;
  double worst = 1;
  for (double log_price = -14; log_price < 1; log_price += 0.01) {
    const double price = std::exp(log_price);
    const double bits = hull_.BitsAt(price);
    EXPECT_LE(bits, last_bits);
    last_bits = bits;
    const double cost = hull_.CostAt(bits) + price * bits;
    EXPECT_GE(cost, LeastByHand(price) * (1 - 1e-9));
    worst = std::max(worst, cost / LeastByHand(price));
  }
  EXPECT_LT(worst, 1.02);
}

TEST_P(HullOf, IsConvexAndFalls) {
  const auto& vertices = hull_.vertices();
  EXPECT_EQ(vertices.front().family, Family::kNone);
  for (size_t i = 2; i < vertices.size(); i++) {
    const auto slope = [&](size_t at) {
      return (vertices[at - 1].cost - vertices[at].cost) /
             (vertices[at].bits - vertices[at - 1].bits);
    };
    EXPECT_GT(slope(i), 0);
    EXPECT_GT(slope(i - 1), slope(i));
  }
}

TEST_P(HullOf, ChoicesCostWhatTheHullPromises) {
  for (double bits = 3; bits < hull_.vertices().back().bits; bits += 0.1) {
    const FilterChoice choice = hull_.Choose(bits);
    EXPECT_NEAR(choice.bits_per_key, bits, 0.3 + 600.0 / static_cast<double>(keys_));
    EXPECT_NEAR((choice.rate + costs_.ProbeCharge(choice.family)) / hull_.CostAt(bits), 1, 0.4)
        << bits << " " << static_cast<int>(choice.family);
  }
  EXPECT_EQ(hull_.Choose(hull_.fixed_bits()).family, Family::kNone);
}

INSTANTIATE_TEST_SUITE_P(Families, HullOf,
                         testing::Combine(testing::Values(kOurs, kTwo),
                                          testing::Values(500, 10000, 1000000)));

TEST(Hull, BitsReachEveryValueBetweenTheEnds) {
  const Hull hull(kOurs, 100000, CostModel());
  double last = hull.BitsAt(1e-9);
  for (double log_price = std::log(1e-9); log_price < 0; log_price += 0.0005) {
    const double bits = hull.BitsAt(std::exp(log_price));
    EXPECT_LT(last - bits, 0.2);
    last = bits;
  }
}

TEST(Hull, ProbesThatCostAsMuchAsReadsAreNotBought) {
  CostModel costs;
  costs.read_ns = 1;
  EXPECT_EQ(Hull(kOurs, 10000, costs).BitsAt(1e-9),
            FrameBitsOfFilter(Family::kRibbon, 10000) / 10000);
  costs.read_ns = 8e7;
  EXPECT_EQ(Hull(kOurs, 10000, costs).Choose(10).family, Family::kRibbon);
  // With the most bits, rates are so low that the quicker probe is all that matters.
  const Hull hull(kOurs, 10000, CostModel());
  EXPECT_EQ(hull.Choose(hull.BitsAt(1e-12)).family, Family::kBloom);
}

TEST(Hull, OfNothingIsNoFilter) {
  const Hull hull({}, 1000, CostModel());
  EXPECT_EQ(hull.BitsAt(1e-6), 0);
  EXPECT_EQ(hull.Choose(10).family, Family::kNone);
  EXPECT_EQ(hull.CostAt(5), 1);
}

}  // namespace
}  // namespace rocksieve
