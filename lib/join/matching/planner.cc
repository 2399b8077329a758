#include "lib/join/matching/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "lib/filter/family.h"

namespace rocksieve::join {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kMostFilters = 6;  // in a row, by both sides together
constexpr double kWidths[] = {1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 12, 14};
constexpr double kLaterWidths[] = {1, 2, 3, 4, 5, 6, 8, 10, 13};
constexpr MoveKind kEndings[] = {MoveKind::kList, MoveKind::kKeys, MoveKind::kSymbols,
                                 MoveKind::kSketch};

// This one and the answers to it, and the server's sum.
int TurnsFor(MoveKind ending, bool is_client) {
  return (ending == MoveKind::kSketch ? 4 : 2) + (is_client ? 0 : 1);
}

// Strategies that are one filter are called as its family is. Else null.
const FamilyEntry* FamilyOf(Strategy strategy) { return FindFamily(NameOf(strategy)); }

bool MayEndWith(Strategy strategy, MoveKind ending) {
  switch (strategy) {
    case Strategy::kAuto:
    case Strategy::kSstFilters:
      return true;
    case Strategy::kKeys:
      return ending == MoveKind::kKeys;
    case Strategy::kList:
    case Strategy::kBloom:
    case Strategy::kCuckoo:
    case Strategy::kRibbon:
      return ending == MoveKind::kList;
    case Strategy::kPingPong:
      return ending == MoveKind::kList || ending == MoveKind::kSymbols;
    case Strategy::kSketch:
      return ending == MoveKind::kSketch;
    case Strategy::kSymbols:
      return ending == MoveKind::kSymbols;
  }
  return false;
}

class Search {
 public:
  explicit Search(const PlannerOptions& options) : options_(options) {}

  // The best turn at this standing; cost is infinite if none is below `limit`.
  Move Best(const Standing& standing, const TurnLimit& turns, int filters_left, int depth,
            double limit) const {
    Move best = BestEnding(standing, turns, limit);
    if (filters_left == 0) return best;
    const bool first = depth == 0;
    const auto widths = first ? std::span<const double>(kWidths) : std::span(kLaterWidths);
    for (const double width : widths) {
      limit = std::min(limit, best.cost);
      const Cost filter = FilterCost(Family::kRibbon, standing, width, options_.prices);
      const double cost = filter.bits + filter.cpu_ns * options_.prices.bits_per_cpu_ns;
      if (cost >= limit) break;
      const Standing after = AfterFilter(standing, width);
      // An ending in the same turn does not know yet what the filter will leave.
      const Standing same_side = {after.theirs, after.mine, after.common, standing.common_error};
      Consider(BestMerged(same_side, turns, limit - cost), filter.bits, cost, 0, width, &best);
      limit = std::min(limit, best.cost);
      if (turns.turns_left <= 2) continue;
      const double turn = options_.prices.bits_per_round_trip / 2;
      Move next = Best(after, {!turns.is_client, turns.turns_left - 1}, filters_left - 1, depth + 1,
                       limit - cost - turn);
      next.ending.reset();
      Consider(next, filter.bits, cost + turn, 1, width, &best);
    }
    return best;
  }

  Move BestEnding(const Standing& standing, const TurnLimit& turns, double limit) const {
    Move best;
    best.cost = limit;
    for (const MoveKind ending : kEndings) Try(ending, standing, turns, &best);
    if (!best.ending) best.cost = kInfinite;
    return best;
  }

 private:
  // After a filter in the same turn, what ends by the difference is worth it, and only that.
  Move BestMerged(const Standing& standing, const TurnLimit& turns, double limit) const {
    Move best;
    best.cost = limit;
    Try(MoveKind::kSymbols, standing, turns, &best);
    Try(MoveKind::kSketch, standing, turns, &best);
    if (!best.ending) best.cost = kInfinite;
    return best;
  }

  static void Consider(Move next, double bits, double cost, int turns, double width, Move* best) {
    if (next.cost + cost >= best->cost) return;
    *best = next;
    best->filter_width = width;
    best->bits += bits;
    best->cost += cost;
    best->turns += turns;
  }

  void Try(MoveKind ending, const Standing& standing, const TurnLimit& turns, Move* best) const {
    const int needed = TurnsFor(ending, turns.is_client);
    if (needed > turns.turns_left || !MayEndWith(options_.strategy, ending)) return;
    if (ending != MoveKind::kSketch) return Take(ending, 0, CostOf(ending, standing), needed, best);
    // Six bits are the least that a difference takes.
    if (6 * standing.differences() >= best->cost) return;
    for (int cells_log2 = 1; cells_log2 <= kMostCellsLog2; cells_log2++) {
      const std::optional<Cost> cost = SketchCost(standing, cells_log2, options_.prices);
      if (cost) Take(ending, cells_log2, *cost, needed, best);
    }
  }

  Cost CostOf(MoveKind ending, const Standing& standing) const {
    if (ending == MoveKind::kList) return ListCost(standing, options_.prices);
    if (ending == MoveKind::kSymbols) return SymbolsCost(standing, options_.prices);
    return KeysCost(standing, options_.keys, options_.prices);
  }

  void Take(MoveKind ending, int cells_log2, const Cost& bare, int turns, Move* best) const {
    const double cost = bare.bits + bare.cpu_ns * options_.prices.bits_per_cpu_ns +
                        turns * options_.prices.bits_per_round_trip / 2;
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
Move SingleFilter(const Standing& standing, const PlannerOptions& options) {
  Move move;
  move.family = FamilyOf(options.strategy)->family;
  const double bits_per_false_positive = ListBitsFor(standing.mine) + 2.5;
  move.filter_width = BestSingleWidth(move.family, standing, bits_per_false_positive);
  const Cost filter = FilterCost(move.family, standing, move.filter_width, options.prices);
  const Cost list = ListCost(AfterFilter(standing, move.filter_width), options.prices);
  move.bits = filter.bits + list.bits;
  move.cost = move.bits + (filter.cpu_ns + list.cpu_ns) * options.prices.bits_per_cpu_ns;
  move.turns = 4;
  return move;
}

}  // namespace

std::string_view NameOf(MoveKind kind) {
  switch (kind) {
    case MoveKind::kFilter:
      return "filter";
    case MoveKind::kList:
      return "list";
    case MoveKind::kKeys:
      return "keys";
    case MoveKind::kSymbols:
      return "symbols";
    case MoveKind::kSketch:
      return "sketch";
  }
  return "unknown";
}

Move CheapestMove(const Standing& standing, const TurnLimit& limit, int filters,
                  const PlannerOptions& options) {
  Standing known = standing;
  known.common = std::clamp(known.common, 0.0, std::min(known.mine, known.theirs));
  if (FamilyOf(options.strategy) != nullptr && filters == 0) return SingleFilter(known, options);
  TurnLimit turns = limit;
  const bool mixes = options.strategy == Strategy::kAuto || options.strategy == Strategy::kPingPong;
  // Beyond its limit, a range is reconciled by the shortest way, a list; others take what they
  // need.
  turns.turns_left = mixes ? std::max(turns.turns_left, TurnsFor(MoveKind::kList, turns.is_client))
                           : TurnsFor(MoveKind::kSketch, turns.is_client);
  const Search search(options);
  const int filters_left = mixes ? kMostFilters - std::min(filters, kMostFilters) : 0;
  Move best = search.Best(known, turns, filters_left, 0, kInfinite);
  // Too few differences for the planner's taste.
  if (options.strategy == Strategy::kSketch && !best.ending) {
    best.ending = MoveKind::kSketch;
    best.cells_log2 = 3;
    best.bits = best.cost = SymbolsCost(known, options.prices).bits;
    best.turns = turns.turns_left;
  }
  return best;
}

bool KeysAreAsCheap(const Standing& standing, const TurnLimit& limit,
                    const PlannerOptions& options) {
  constexpr double kHardlyMore = 1.1;
  const Move best = CheapestMove(standing, limit, 0, options);
  return KeysCost(standing, options.keys, options.prices).bits <= kHardlyMore * best.bits;
}

}  // namespace rocksieve::join
