// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "lib/filter/family.h"

namespace rocksieve::join {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// In a row, by both sides together; and where computation counts, of which each takes some. More
// would be looked through in vain, and that takes time as well.
constexpr int kMostFilters = 6, kMostCostlyFilters = 2;
constexpr double kComputationCounts = 0.001;  // bits_per_cpu_ns
constexpr double kWidths[] = {1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 12, 14};
constexpr double kLaterWidths[] = {1, 2, 3, 4, 5, 6, 8, 10, 13};
constexpr Part kEndings[] = {Part::kList, Part::kKeys, Part::kSymbols, Part::kSketch};

// This one and the answers to it, and the server's sum.
int TurnsFor(Part ending, bool is_client) {
  return (ending == Part::kSketch ? 4 : 2) + (is_client ? 0 : 1);
}

// Strategies that are one filter are called as its family is. Else null.
const FamilyEntry* FamilyOf(Strategy strategy) { return FindFamily(NameOf(strategy)); }

bool MayEndWith(Strategy strategy, Part ending) {
  switch (strategy) {
    case Strategy::kAuto:
    case Strategy::kSstFilters:
      return true;
    case Strategy::kKeys:
      return ending == Part::kKeys;
    case Strategy::kList:
    case Strategy::kBloom:
    case Strategy::kCuckoo:
    case Strategy::kRibbon:
      return ending == Part::kList;
    case Strategy::kPingPong:
      return ending == Part::kList || ending == Part::kSymbols;
    case Strategy::kSketch:
      return ending == Part::kSketch;
    case Strategy::kSymbols:
      return ending == Part::kSymbols;
  }
  return false;
}

class Search {
 public:
  explicit Search(const PlannerOptions& options) : options_(options) {}

  // The best step at this estimate; cost is infinite if none is below `limit`.
  PlannedStep Best(const RangeEstimate& estimate, const TurnLimit& turns, int filters_left,
                   int depth, double limit) const {
    PlannedStep best = BestEnding(estimate, turns, limit);
    if (filters_left == 0) return best;
    const bool first = depth == 0;
    const auto widths = first ? std::span<const double>(kWidths) : std::span(kLaterWidths);
    for (const double width : widths) {
      limit = std::min(limit, best.cost);
      const Cost filter = FilterCost(Family::kRibbon, estimate, width, options_.weights);
      const double cost = filter.bits + filter.cpu_ns * options_.weights.bits_per_cpu_ns;
      if (cost >= limit) break;
      const RangeEstimate after = AfterFilter(estimate, width);
      // An ending in the same step does not know yet what the filter will leave.
      const RangeEstimate same_side = {after.theirs, after.mine, after.common,
                                       estimate.common_error};
      Consider(BestMerged(same_side, turns, limit - cost), filter.bits, cost, 0, width, &best);
      limit = std::min(limit, best.cost);
      if (turns.turns_left <= 2) continue;
      const double turn = options_.weights.bits_per_round_trip / 2;
      PlannedStep next = Best(after, {!turns.is_client, turns.turns_left - 1}, filters_left - 1,
                              depth + 1, limit - cost - turn);
      next.ending.reset();
      Consider(next, filter.bits, cost + turn, 1, width, &best);
    }
    return best;
  }

  PlannedStep BestEnding(const RangeEstimate& estimate, const TurnLimit& turns,
                         double limit) const {
    PlannedStep best;
    best.cost = limit;
    for (const Part ending : kEndings) Try(ending, estimate, turns, &best);
    if (!best.ending) best.cost = kInfinite;
    return best;
  }

 private:
  // After a filter in the same step, what ends by the difference is worth it, and only that.
  PlannedStep BestMerged(const RangeEstimate& estimate, const TurnLimit& turns,
                         double limit) const {
    PlannedStep best;
    best.cost = limit;
    Try(Part::kSymbols, estimate, turns, &best);
    Try(Part::kSketch, estimate, turns, &best);
    if (!best.ending) best.cost = kInfinite;
    return best;
  }

  static void Consider(PlannedStep next, double bits, double cost, int turns, double width,
                       PlannedStep* best) {
    if (next.cost + cost >= best->cost) return;
    *best = next;
    best->filter_width = width;
    best->bits += bits;
    best->cost += cost;
    best->turns += turns;
  }

  void Try(Part ending, const RangeEstimate& estimate, const TurnLimit& turns,
           PlannedStep* best) const {
    const int needed = TurnsFor(ending, turns.is_client);
    if (needed > turns.turns_left || !MayEndWith(options_.strategy, ending)) return;
    if (ending != Part::kSketch) return Take(ending, 0, CostOf(ending, estimate), needed, best);
    // Six bits are the least that a difference takes.
    const CostWeights& weights = options_.weights;
    const double least_ns = weights.sketch_key_ns * (estimate.mine + estimate.theirs) +
                            weights.sketch_difference_ns * estimate.differences();
    const double least = 6 * estimate.differences() + least_ns * weights.bits_per_cpu_ns;
    if (least >= best->cost) return;
    for (int cells_log2 = 1; cells_log2 <= kMostCellsLog2; cells_log2++) {
      const std::optional<Cost> cost = SketchCost(estimate, cells_log2, options_.weights);
      if (cost) Take(ending, cells_log2, *cost, needed, best);
    }
  }

  Cost CostOf(Part ending, const RangeEstimate& estimate) const {
    if (ending == Part::kList) return ListCost(estimate, options_.weights);
    if (ending == Part::kSymbols) return SymbolsCost(estimate, options_.weights);
    return KeysCost(estimate, options_.keys, options_.weights);
  }

  void Take(Part ending, int cells_log2, const Cost& bare, int turns, PlannedStep* best) const {
    const double cost = bare.bits + bare.cpu_ns * options_.weights.bits_per_cpu_ns +
                        turns * options_.weights.bits_per_round_trip / 2;
    if (cost >= best->cost) return;
    *best = {};
    best->ending = ending;
    best->cells_log2 = cells_log2;
    best->bits = bare.bits;
    best->cost = cost;
    best->turns = turns;
  }

  const PlannerOptions& options_;
};

// One filter, as wide as what follows makes it, then a list from the other side.
PlannedStep SingleFilter(const RangeEstimate& estimate, const PlannerOptions& options) {
  PlannedStep planned;
  planned.family = FamilyOf(options.strategy)->family;
  const double bits_per_false_positive = ListBitsFor(estimate.mine) + 2.5;
  planned.filter_width = BestSingleWidth(planned.family, estimate, bits_per_false_positive);
  const Cost filter = FilterCost(planned.family, estimate, planned.filter_width, options.weights);
  const Cost list = ListCost(AfterFilter(estimate, planned.filter_width), options.weights);
  planned.bits = filter.bits + list.bits;
  planned.cost = planned.bits + (filter.cpu_ns + list.cpu_ns) * options.weights.bits_per_cpu_ns;
  planned.turns = 4;
  return planned;
}

PlannedStep CheapestAt(const RangeEstimate& estimate, const TurnLimit& limit, int filters,
                       const PlannerOptions& options) {
  RangeEstimate known = estimate;
  known.common = std::clamp(known.common, 0.0, std::min(known.mine, known.theirs));
  if (FamilyOf(options.strategy) != nullptr && filters == 0) return SingleFilter(known, options);
  TurnLimit turns = limit;
  const bool mixes = options.strategy == Strategy::kAuto || options.strategy == Strategy::kPingPong;
  // Beyond its limit, a range is reconciled by the shortest way, a list; others take what they
  // need.
  turns.turns_left = mixes ? std::max(turns.turns_left, TurnsFor(Part::kList, turns.is_client))
                           : TurnsFor(Part::kSketch, turns.is_client);
  const Search search(options);
  const int most_filters =
      options.weights.bits_per_cpu_ns < kComputationCounts ? kMostFilters : kMostCostlyFilters;
  const int filters_left = mixes ? most_filters - std::min(filters, most_filters) : 0;
  PlannedStep best = search.Best(known, turns, filters_left, 0, kInfinite);
  // Too few differences for the planner's taste.
  if (options.strategy == Strategy::kSketch && !best.ending) {
    best.ending = Part::kSketch;
    best.cells_log2 = 3;
    best.bits = best.cost = SymbolsCost(known, options.weights).bits;
    best.turns = turns.turns_left;
  }
  return best;
}

// What is waited for until a range is reconciled by a step and all that follows it, in bits that
// the link could carry meanwhile.
struct Waits {
  double turns = 0, link = 0, computing = 0;
  // Links and processors work at the same time for different ranges, so the one that takes longer
  // counts, and some of the other.
  double all() const {
    constexpr double kNotHidden = 0.25;
    return turns + std::max(link, computing) + kNotHidden * std::min(link, computing);
  }
};

// Of a plan that was made at the price of `by`.
Waits WaitsOf(const PlannedStep& step, const RangeEstimate& estimate, const CostWeights& by,
              double bits_per_cpu_ns) {
  // Of the bits, in the direction that carries more: filters alternate, what ends a range goes one
  // way and is answered shortly.
  constexpr double kOneWayOfFilters = 0.6, kOneWay = 0.85;
  Waits waits;
  waits.turns = step.turns * by.bits_per_round_trip / 2;
  waits.link = step.bits * (step.ending ? kOneWay : kOneWayOfFilters);
  const double planned_ns = std::max(0.0, step.cost - step.bits - waits.turns) / by.bits_per_cpu_ns;
  waits.computing = (planned_ns + by.scan_ns * (estimate.mine + estimate.theirs)) * bits_per_cpu_ns;
  return waits;
}

}  // namespace

PlannedStep CheapestStep(const RangeEstimate& estimate, const TurnLimit& limit, int filters,
                         const PlannerOptions& options) {
  const double price = options.weights.bits_per_cpu_ns;
  const PlannedStep best = CheapestAt(estimate, limit, filters, options);
  if (price < kComputationCounts) return best;
  // Where the link is what is waited for, a computation that saves bits costs nothing; and the
  // other way round.
  const Waits waits = WaitsOf(best, estimate, options.weights, price);
  PlannerOptions other = options;
  other.weights.bits_per_cpu_ns *= waits.link > waits.computing ? 0.1 : 3;
  const PlannedStep step = CheapestAt(estimate, limit, filters, other);
  return WaitsOf(step, estimate, other.weights, price).all() < waits.all() ? step : best;
}

bool KeysAreAsCheap(const RangeEstimate& estimate, const TurnLimit& limit,
                    const PlannerOptions& options) {
  constexpr double kHardlyMore = 1.1;
  const PlannedStep best = CheapestStep(estimate, limit, 0, options);
  return KeysCost(estimate, options.keys, options.weights).bits <= kHardlyMore * best.bits;
}

}  // namespace rocksieve::join
