// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/planner.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lib/join/matching/cost_model.h"
#include "lib/sketch/pinsketch/plan.h"

namespace rocksieve::join {
namespace {

constexpr double kOverlaps[] = {0, 0.5, 0.8, 0.9, 0.98, 0.999};

// Two sides of as many keys, with the error that an estimator of 512 counters leaves.
RangeEstimate Sides(double keys, double overlap) {
  const double differences = 2 * keys * (1 - overlap);
  return {keys, keys, keys * overlap, differences * std::sqrt(2.0 / 512) / 2};
}

// With prices that do not depend on this machine.
PlannedStep PlanAt(double bits_per_cpu_ns, const RangeEstimate& estimate) {
  PlannerOptions options;
  options.weights = WeightsForPrice(bits_per_cpu_ns, Isa::kAvx512);
  return CheapestStep(estimate, {/*is_client=*/true, /*turns_left=*/8}, /*begun=*/{}, options);
}

TEST(Planner, SendsLittleWhereBytesAreWhatCounts) {
  const double least_bits = PlannerOptions().weights.bits_per_cpu_ns;
  const PlannedStep nothing_in_common = PlanAt(least_bits, Sides(1e6, 0));
  EXPECT_GT(nothing_in_common.filter_width, 0);
  EXPECT_LT(nothing_in_common.bits(), 3.3e6);
  const PlannedStep most_in_common = PlanAt(least_bits, Sides(1e6, 0.98));
  EXPECT_EQ(most_in_common.filter_width, 0);
  EXPECT_EQ(most_in_common.ending, Part::kSketch);
  EXPECT_LT(most_in_common.bits(), 1e6);
}

// What computing is worth more never has less sent.
TEST(Planner, SendsMoreOnFasterLinks) {
  for (const double keys : {3000., 125'000., 1e6}) {
    for (const double overlap : kOverlaps) {
      double last_bits = 0;
      for (double price = 0.0001; price < 20; price *= 4) {
        const double bits = PlanAt(price, Sides(keys, overlap)).bits();
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
  EXPECT_GT(step.bits(), 7 * 125'000);
}

// A filter before a sketch lets it do without half of the differences, and without a margin for an
// estimate; where few keys differ it costs more than that.
TEST(Planner, PutsFiltersBeforeSketchesWhereTheySave) {
  const double bytes_alone = PlannerOptions().weights.bits_per_cpu_ns;
  for (const double overlap : {0.8, 0.84, 0.86}) {
    EXPECT_GT(PlanAt(bytes_alone, Sides(1e6, overlap)).filter_width, 0) << overlap;
  }
  for (const double overlap : {0.9, 0.91, 0.92, 0.95, 0.99}) {
    const PlannedStep step = PlanAt(bytes_alone, Sides(1e6, overlap));
    EXPECT_EQ(step.filter_width, 0) << overlap;
    EXPECT_EQ(step.ending, Part::kSketch) << overlap;
  }
}

// What the planner takes for the size of a sketch is what it is.
TEST(Planner, KnowsTheSizeOfSketches) {
  for (double differences = 300; differences < 1e6; differences *= 1.37) {
    for (double keys = differences; keys < 300 * differences; keys *= 1.61) {
      for (const int cells_log2 : {3, 5, 9}) {
        const std::optional<double> bits = SketchBits(keys, differences, cells_log2);
        if (!bits) continue;
        const pinsketch::Plan plan = pinsketch::MakePlan(keys, differences, cells_log2);
        const double right = 8 * static_cast<double>(plan.SketchBytes());
        EXPECT_NEAR(*bits, right, 0.05 * right)
            << keys << " keys, " << differences << " differences, 2^" << cells_log2 << " cells";
      }
    }
  }
}

// Kernels make parts of a join cheaper; where bytes alone count, plans do not depend on them.
// A filter and symbols are cheapest at no price there, but the quickest: symbols alone are one
// direction's burden, and one side's.
TEST(Planner, BalancesDirectionsAndSides) {
  const PlannedStep step =
      PlanAt(PriceOfLink(/*bytes_per_second=*/12.5e6, /*threads=*/2), Sides(125'000, 0.98));
  EXPECT_GT(step.filter_width, 0);
  EXPECT_LT(step.bits(), 5 * 125'000);
}

// Whatever computing is worth. Lists are the shortest way there is.
TEST(Planner, TakesNoMoreTurnsThanThereMayBe) {
  for (const bool is_client : {false, true}) {
    const int list_turns = is_client ? 2 : 3;
    for (int turns_left = list_turns; turns_left <= 8; turns_left++) {
      for (const double overlap : kOverlaps) {
        for (double price = 0.0001; price < 20; price *= 4) {
          PlannerOptions options;
          options.weights = WeightsForPrice(price, Isa::kAvx512);
          const PlannedStep step = CheapestStep(Sides(125'000, overlap), {is_client, turns_left},
                                                /*begun=*/{}, options);
          EXPECT_LE(step.turns, turns_left) << overlap << ", " << price;
        }
      }
    }
  }
}

TEST(Planner, HasPricesOfEachInstructionSet) {
  const PartPrices& plain = PricesOf(Isa::kPortable);
  for (const Isa isa : {Isa::kSse2, Isa::kAvx2, Isa::kAvx512, Isa::kNeon}) {
    const PartPrices& prices = PricesOf(isa);
    EXPECT_LE(prices.filter_query_ns, plain.filter_query_ns) << IsaName(isa);
    EXPECT_LE(prices.symbols_send_ns, plain.symbols_send_ns) << IsaName(isa);
    EXPECT_EQ(WeightsForPrice(0.5, isa).prices.symbols_send_ns, prices.symbols_send_ns);
  }
  EXPECT_EQ(CostWeights().prices.symbols_send_ns, PricesOf(Isa::kAvx512).symbols_send_ns);
  EXPECT_EQ(WeightsForPrice(0.5).prices.filter_query_ns, PricesOf(ActiveIsa()).filter_query_ns);
}

TEST(Planner, ShipsKeysThatAreShort) {
  PlannerOptions options;
  options.keys.each = 2;
  options.keys.each_sparse = 6;
  options.keys.front_coded = 8;
  options.keys.all_keys = 1e5;
  for (const double price : {0.0001, 0.01}) {
    options.weights.bits_per_cpu_ns = price;
    const PlannedStep step = CheapestStep(Sides(1e5, 0.5), {/*is_client=*/true, /*turns_left=*/8},
                                          /*begun=*/{}, options);
    EXPECT_EQ(step.ending, Part::kKeys) << price;
  }
}

}  // namespace
}  // namespace rocksieve::join
