// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/planner.h"

#include <cmath>

#include <gtest/gtest.h>

namespace rocksieve::join {
namespace {

constexpr double kOverlaps[] = {0, 0.5, 0.8, 0.9, 0.98, 0.999};

// Two sides of as many keys, with the error that an estimator of 512 counters leaves.
RangeEstimate Sides(double keys, double overlap) {
  const double differences = 2 * keys * (1 - overlap);
  return {keys, keys, keys * overlap, differences * std::sqrt(2.0 / 512) / 2};
}

PlannedStep PlanAt(double bits_per_cpu_ns, const RangeEstimate& estimate) {
  PlannerOptions options;
  options.weights.bits_per_cpu_ns = bits_per_cpu_ns;
  return CheapestStep(estimate, {/*is_client=*/true, /*turns_left=*/8}, /*filters=*/0, options);
}

TEST(Planner, SendsLittleWhereBytesAreWhatCounts) {
  const double least_bits = PlannerOptions().weights.bits_per_cpu_ns;
  const PlannedStep nothing_in_common = PlanAt(least_bits, Sides(1e6, 0));
  EXPECT_GT(nothing_in_common.filter_width, 0);
  EXPECT_LT(nothing_in_common.bits, 3.3e6);
  const PlannedStep most_in_common = PlanAt(least_bits, Sides(1e6, 0.98));
  EXPECT_EQ(most_in_common.filter_width, 0);
  EXPECT_EQ(most_in_common.ending, Part::kSketch);
  EXPECT_LT(most_in_common.bits, 1e6);
}

// What computing is worth more never has less sent.
TEST(Planner, SendsMoreOnFasterLinks) {
  for (const double keys : {3000., 125'000., 1e6}) {
    for (const double overlap : kOverlaps) {
      double last_bits = 0;
      for (double price = 0.0001; price < 20; price *= 4) {
        const double bits = PlanAt(price, Sides(keys, overlap)).bits;
        EXPECT_GT(bits, 0.97 * last_bits) << keys << " keys, " << overlap << ", " << price;
        last_bits = bits;
      }
    }
  }
}

// Filters go both ways at once on a link that carries both: a sketch, which saves half of the bits
// and takes twice the time, is not quicker.
TEST(Planner, FiltersAreForLinksThatAreNotWaitedFor) {
  const PlannedStep step =
      PlanAt(PriceOfLink(/*bytes_per_second=*/12.5e6, /*threads=*/2), Sides(125'000, 0.9));
  EXPECT_GT(step.filter_width, 0);
  EXPECT_NE(step.ending, Part::kSketch);
  EXPECT_GT(step.bits, 7 * 125'000);
}

TEST(Planner, ShipsKeysThatAreShort) {
  PlannerOptions options;
  options.keys.each = 2;
  options.keys.each_sparse = 6;
  options.keys.front_coded = 8;
  options.keys.all_keys = 1e5;
  for (const double price : {0.0001, 0.01}) {
    options.weights.bits_per_cpu_ns = price;
    const PlannedStep step =
        CheapestStep(Sides(1e5, 0.5), {/*is_client=*/true, /*turns_left=*/8}, 0, options);
    EXPECT_EQ(step.ending, Part::kKeys) << price;
  }
}

}  // namespace
}  // namespace rocksieve::join
