// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/planner.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include "lib/filter/family.h"
#include "lib/join/matching/cost_model.h"

namespace rocksieve::join {
namespace {

// In the order of the enumeration.
constexpr absl::string_view kNames[] = {"auto",   "keys",      "list",   "bloom",   "cuckoo",
                                        "ribbon", "ping-pong", "sketch", "symbols", "sst-filters"};

}  // namespace

std::string_view NameOf(Strategy strategy) {
  const auto index = static_cast<size_t>(strategy);
  if (index >= std::size(kNames)) return "unknown";
  return {kNames[index].data(), kNames[index].size()};
}

std::string StrategyNames() { return absl::StrJoin(kNames, ", "); }

absl::StatusOr<Strategy> StrategyNamed(std::string_view name) {
  const absl::string_view wanted(name.data(), name.size());
  if (wanted.empty()) return Strategy::kAuto;
  for (size_t i = 0; i < std::size(kNames); i++) {
    if (kNames[i] == wanted) return static_cast<Strategy>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no strategy \"", wanted, "\": ", StrategyNames()));
}

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// In a row, by both sides together; and where computation counts, of which each takes some. More
// would be looked through in vain, and that takes time as well.
constexpr int kMostFilters = 6, kMostCostlyFilters = 2;
constexpr double kComputationCounts = 0.001;  // bits_per_cpu_ns
// At which plans are looked for where it does.
constexpr double kPriceFactors[] = {0.1, 0.35, 1, 3};
constexpr double kWidths[] = {1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 12, 14};
constexpr double kLaterWidths[] = {1, 2, 3, 4, 5, 6, 8, 10, 13};
constexpr int kCellsLog2[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, kFewCellsLog2[] = {5};
constexpr Part kEndings[] = {Part::kList, Part::kKeys, Part::kSymbols, Part::kSketch};
// After a filter in the same step, what ends by the difference is worth it, and only that.
constexpr Part kMergedEndings[] = {Part::kSymbols, Part::kSketch};

// This one and the answers to it, and the server's sum.
int TurnsFor(Part ending, bool is_client) {
  return (ending == Part::kSketch ? 4 : 2) + (is_client ? 0 : 1);
}

// Strategies that are one filter are called as its family is. Else null.
const FamilyEntry* FamilyOf(Strategy strategy) { return FindFamily(NameOf(strategy)); }

bool MayEndWith(Strategy strategy, Part ending) {
  constexpr auto kBit = [](Part part) { return 1u << static_cast<unsigned>(part); };
  constexpr unsigned kKeys = kBit(Part::kKeys), kList = kBit(Part::kList),
                     kSymbols = kBit(Part::kSymbols), kSketch = kBit(Part::kSketch),
                     kAny = kKeys | kList | kSymbols | kSketch;
  constexpr unsigned kEndingsOf[] = {
      kAny, kKeys, kList, kList, kList, kList, kList | kSymbols, kSketch, kSymbols, kAny};
  static_assert(std::size(kEndingsOf) == std::size(kNames));  // in the order of the enumeration
  return (kEndingsOf[static_cast<size_t>(strategy)] & kBit(ending)) != 0;
}

class Search {
 public:
  // `few_cells`: of sketches, those with so many cells as are mostly the best alone are looked at.
  Search(const PlannerOptions& options, bool few_cells)
      : options_(options), few_cells_(few_cells) {}

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
      const double cost = filter.bits() + filter.cpu_ns() * options_.weights.bits_per_cpu_ns;
      if (cost >= limit) break;
      const RangeEstimate after = AfterFilter(estimate, width);
      // An ending in the same step does not know yet what the filter will leave.
      const RangeEstimate same_side = {after.theirs, after.mine, after.common,
                                       estimate.common_error};
      Consider(BestEnding(same_side, turns, limit - cost, kMergedEndings), filter, cost, 0, width,
               &best);
      limit = std::min(limit, best.cost);
      if (turns.turns_left <= 2) continue;
      const double turn = options_.weights.bits_per_round_trip / 2;
      PlannedStep next = Best(after, {!turns.is_client, turns.turns_left - 1}, filters_left - 1,
                              depth + 1, limit - cost - turn);
      next.ending.reset();
      next.expected = next.expected.Turned();
      Consider(next, filter, cost + turn, 1, width, &best);
    }
    return best;
  }

  PlannedStep BestEnding(const RangeEstimate& estimate, const TurnLimit& turns, double limit,
                         std::span<const Part> endings = kEndings) const {
    PlannedStep best;
    best.cost = limit;
    for (const Part ending : endings) Try(ending, estimate, turns, &best);
    if (!best.ending) best.cost = kInfinite;
    return best;
  }

 private:
  static void Consider(PlannedStep next, const Cost& filter, double cost, int turns, double width,
                       PlannedStep* best) {
    if (next.cost + cost >= best->cost) return;
    *best = next;
    best->filter_width = width;
    best->expected += filter;
    best->cost += cost;
    best->turns += turns;
  }

  void Try(Part ending, const RangeEstimate& estimate, const TurnLimit& turns,
           PlannedStep* best) const {
    const int needed = TurnsFor(ending, turns.is_client);
    if (needed > turns.turns_left || !MayEndWith(options_.strategy, ending)) return;
    if (ending != Part::kSketch) return Take(ending, 0, CostOf(ending, estimate), needed, best);
    // More cells take more bits, whatever they leave to the symbols.
    const CostWeights& weights = options_.weights;
    const double least_ns = weights.prices.sketch_send_ns * estimate.mine +
                            weights.prices.sketch_receive_ns * estimate.theirs +
                            weights.prices.sketch_difference_ns * estimate.differences();
    const double least = least_ns * weights.bits_per_cpu_ns;
    if (least >= best->cost) return;
    const double keys = std::max(estimate.mine, estimate.theirs);
    const auto all_cells = std::span<const int>(kCellsLog2);
    for (const int cells_log2 : few_cells_ ? std::span<const int>(kFewCellsLog2) : all_cells) {
      const double differences = std::max(1.0, estimate.differences());
      const std::optional<double> bits = SketchBits(keys, differences, cells_log2);
      if (!bits || least + *bits >= best->cost) return;
      const std::optional<Cost> cost = SketchCost(estimate, cells_log2, weights);
      if (cost) Take(ending, cells_log2, *cost, needed, best);
    }
  }

  Cost CostOf(Part ending, const RangeEstimate& estimate) const {
    if (ending == Part::kList) return ListCost(estimate, options_.weights);
    if (ending == Part::kSymbols) return SymbolsCost(estimate, options_.weights);
    return KeysCost(estimate, options_.keys, options_.weights);
  }

  void Take(Part ending, int cells_log2, const Cost& bare, int turns, PlannedStep* best) const {
    const double cost = bare.bits() + bare.cpu_ns() * options_.weights.bits_per_cpu_ns +
                        turns * options_.weights.bits_per_round_trip / 2;
    if (cost >= best->cost) return;
    *best = {};
    best->ending = ending;
    best->cells_log2 = cells_log2;
    best->expected = bare;
    best->cost = cost;
    best->turns = turns;
  }

  const PlannerOptions& options_;
  const bool few_cells_;
};

// One filter, as wide as what follows makes it, then a list from the other side.
PlannedStep SingleFilter(const RangeEstimate& estimate, const PlannerOptions& options) {
  PlannedStep planned;
  planned.family = FamilyOf(options.strategy)->family;
  const double bits_per_false_positive = ListBitsFor(estimate.mine) + 2.5;
  planned.filter_width = BestSingleWidth(planned.family, estimate, bits_per_false_positive);
  const Cost filter = FilterCost(planned.family, estimate, planned.filter_width, options.weights);
  const Cost list = ListCost(AfterFilter(estimate, planned.filter_width), options.weights);
  planned.expected = filter;
  planned.expected += list.Turned();
  planned.cost = planned.bits() + planned.expected.cpu_ns() * options.weights.bits_per_cpu_ns;
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
  const bool few = options.weights.bits_per_cpu_ns >= kComputationCounts;
  const Search search(options, few);
  const int most_filters = few ? kMostCostlyFilters : kMostFilters;
  const int filters_left = mixes ? most_filters - std::min(filters, most_filters) : 0;
  PlannedStep best = search.Best(known, turns, filters_left, 0, kInfinite);
  if (few && best.ending == Part::kSketch && best.filter_width == 0) {
    best = Search(options, /*few_cells=*/false).BestEnding(known, turns, kInfinite);
  }
  // Too few differences for the planner's taste.
  if (options.strategy == Strategy::kSketch && !best.ending) {
    best.ending = Part::kSketch;
    best.cells_log2 = 3;
    best.expected = SymbolsCost(known, options.weights);
    best.cost = best.bits();
    best.turns = turns.turns_left;
  }
  return best;
}

// How long a range takes where others are under way, in bits that a link carries one way meanwhile:
// as long as the longer one of what the link and what a side's processors have to do for it, and
// most of the other, since there are only so many ranges to work at; and some of what the
// processors of the side with less to do have.
double TimeOf(const Cost& cost, int turns, const CostWeights& weights) {
  // Fitted to sessions of all fixed strategies, over links of 10 Mbit/s to 10 Gbit/s.
  constexpr double kNotHidden = 0.75, kOfOtherSide = 0.3;
  const double link =
      std::max(cost.sent_bits, cost.answered_bits) + turns * weights.bits_per_round_trip / 2;
  // Of so many threads; a price is of both sides together.
  const double price = 2 * weights.bits_per_cpu_ns;
  const double most = price * std::max(cost.own_ns, cost.other_ns);
  const double least = price * std::min(cost.own_ns, cost.other_ns);
  return std::max(link, most) + kNotHidden * std::min(link, most) + kOfOtherSide * least;
}

}  // namespace

PlannedStep CheapestStep(const RangeEstimate& estimate, const TurnLimit& limit, const Begun& begun,
                         const PlannerOptions& options) {
  const double price = options.weights.bits_per_cpu_ns;
  if (price < kComputationCounts) return CheapestAt(estimate, limit, begun.filters, options);
  // Where the link is what is waited for, a computation that saves bits costs nothing; and the
  // other way round. And what is not cheapest at any price may burden both sides and directions
  // alike. So the quickest of those that are cheapest at several prices, with and without some
  // kinds of endings.
  std::vector<Strategy> strategies = {options.strategy};
  if (options.strategy == Strategy::kAuto) {
    strategies.insert(strategies.end(), {Strategy::kPingPong, Strategy::kRibbon, Strategy::kList});
  }
  const Cost scan = ScanCost(estimate.mine, estimate.theirs, options.weights);
  PlannedStep best;
  double least = kInfinite;
  for (const Strategy strategy : strategies) {
    for (const double factor : kPriceFactors) {
      PlannerOptions other = options;
      other.strategy = strategy;
      other.weights.bits_per_cpu_ns = price * factor;
      const PlannedStep step = CheapestAt(estimate, limit, begun.filters, other);
      // Strategies that are forced take what they need, but this one is not.
      if (strategy != options.strategy && step.turns > limit.turns_left) continue;
      Cost all = begun.filters == 0 ? scan : begun.spent;
      all += step.expected;
      const double time = TimeOf(all, step.turns, options.weights);
      if (time >= least) continue;
      least = time;
      best = step;
    }
  }
  return best;
}

bool KeysAreAsCheap(const RangeEstimate& estimate, const TurnLimit& limit,
                    const PlannerOptions& options) {
  constexpr double kHardlyMore = 1.1;
  const PlannedStep best = CheapestStep(estimate, limit, {}, options);
  return KeysCost(estimate, options.keys, options.weights).bits() <= kHardlyMore * best.bits();
}

}  // namespace rocksieve::join
