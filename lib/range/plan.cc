// SPDX-License-Identifier: Apache-2.0
#include "lib/range/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/range/code_set.h"

namespace rocksieve::range {
namespace {

// What is assumed to be asked, as long as nobody says: as many lookups as ranges, of 16 values, and
// half as many prefixes of each length.
constexpr double kKeysWeight = 1, kOrderWeight = 16, kPrefixWeight = 0.5;
constexpr double kLeastBitsPerEntry = 1, kMostBitsPerEntry = 30;

// What an entry of a part takes beyond log2 of one over its rate.
double ExtraBits(const PartPlan& part, double bits_per_entry) {
  if (part.kind != PartKind::kOrder) return 0;
  return bits_per_entry - Log2GapFor(bits_per_entry);
}

// Lengths of prefixes that fewer of the ranges are asked for get no part.
constexpr double kLeastShareOfLength = 0.02;

double AssumedWeightOf(PartKind kind) {
  switch (kind) {
    case PartKind::kPrefixes:
      return kPrefixWeight;
    case PartKind::kOrder:
      return kOrderWeight;
    case PartKind::kKeys:
      break;
  }
  return kKeysWeight;
}

// Queries of the part, times the cells that it is asked for each time.
double WeightOf(const PartPlan& part, const QueryMix& mix) {
  const auto all = static_cast<double>(mix.count());
  if (all == 0) return AssumedWeightOf(part.kind);
  double weight = 0;
  switch (part.kind) {
    case PartKind::kPrefixes:
      weight = static_cast<double>(mix.ranges[part.depth]);
      break;
    case PartKind::kOrder:
      // Ranges that are small at its depth, and those that are a byte above.
      weight = static_cast<double>(mix.cells_below[part.depth - 1]);
      for (size_t depth = part.depth; depth <= kMaxDepth; depth++) {
        weight += kCellsOfSmallRange * static_cast<double>(mix.ranges[depth]);
      }
      weight = std::max(weight, kCellsOfSmallRange * mix.least_share * all);
      // Where keys are not kept apart, it is asked for them, too.
      return weight + static_cast<double>(mix.lookups);
    case PartKind::kKeys:
      weight = static_cast<double>(mix.lookups);
      break;
  }
  return std::max(weight, mix.least_share * all);
}

// Lengths of the prefixes that are asked for most, if at all: between the common prefix and what
// the order is asked for.
std::vector<size_t> LengthsFromQueries(const KeyList& keys, const QueryMix& mix, size_t below) {
  const double least = kLeastShareOfLength * static_cast<double>(mix.range_count());
  std::vector<size_t> lengths;
  for (size_t depth = keys.common_prefix() + 1; depth < below; depth++) {
    if (mix.ranges[depth] > 0 && static_cast<double>(mix.ranges[depth]) >= least) {
      lengths.push_back(depth);
    }
  }
  std::sort(lengths.begin(), lengths.end(),
            [&mix](size_t a, size_t b) { return mix.ranges[a] > mix.ranges[b]; });
  lengths.resize(std::min(lengths.size(), kMaxPrefixLengths));
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

// Lengths at which few of the keys differ, so that to know them costs little: at most 15 %, 5 % and
// 1.5 % of all. Of lengths that tell about as much, the shortest.
std::vector<size_t> LengthsFromKeys(const KeyList& keys, size_t below) {
  std::vector<size_t> lengths;
  const auto count = static_cast<double>(keys.size());
  const size_t common = keys.common_prefix();
  const auto distinct = [&](size_t depth) { return static_cast<double>(keys.DistinctAt(depth)); };
  for (const double share : {0.015, 0.05, 0.15}) {
    size_t depth = std::min(below - 1, kMaxDepth);
    while (depth > common && distinct(depth) > share * count) depth--;
    while (depth > common + 1 && distinct(depth - 1) > 0.97 * distinct(depth)) depth--;
    // Nearly every prefix of the length is there: it would refuse nothing.
    const bool is_full =
        depth - std::min(depth, common) < 7 &&
        distinct(depth) > 0.3 * std::ldexp(1, 8 * static_cast<int>(depth - common));
    if (depth <= common || is_full) continue;
    if (lengths.empty() || lengths.back() < depth) lengths.push_back(depth);
  }
  return lengths;
}

// Keys of one length are numbers for all that anybody knows; of text, neighbours say nothing.
bool HasNumbers(const KeyList& keys) {
  return keys.shortest() == keys.longest() && keys.longest() <= kMaxDepth && keys.longest() > 0;
}

// Depths of the order that are worth a thought; 0: no order.
std::vector<size_t> OrderDepths(const KeyList& keys, const Options& options) {
  if (options.order_depth >= 0) return {static_cast<size_t>(options.order_depth)};
  if (!HasNumbers(keys)) return {0};
  if (options.mix.count() == 0) return {keys.longest()};
  return {keys.longest(), 0};
}

std::vector<size_t> PrefixLengths(const KeyList& keys, const Options& options, size_t order_depth,
                                  bool has_keys) {
  std::vector<size_t> lengths;
  if (options.prefix_lengths[0] != 0) {
    for (const size_t length : options.prefix_lengths) {
      if (length > 0 && (has_keys || length < order_depth)) lengths.push_back(length);
    }
  } else if (options.mix.count() > 0) {
    // Of the last two bytes of numbers, an order alone knows enough.
    const size_t numbers = order_depth == 0 && HasNumbers(keys) ? keys.longest() : order_depth;
    const size_t deepest = std::min(keys.longest(), kMaxDepth);
    lengths = LengthsFromQueries(keys, options.mix, numbers > 0 ? numbers - 1 : deepest + 1);
  } else if (keys.longest() > 0) {
    lengths = LengthsFromKeys(keys, order_depth > 0 ? order_depth : keys.longest());
  }
  return lengths;
}

std::vector<PartPlan> PartsOf(const KeyList& keys, const Options& options, size_t order_depth) {
  const bool has_keys = order_depth < keys.longest() || order_depth == 0;
  std::vector<PartPlan> parts;
  for (const size_t length : PrefixLengths(keys, options, order_depth, has_keys)) {
    parts.push_back({PartKind::kPrefixes, length, keys.DistinctAt(length), 0});
  }
  if (order_depth > 0) {
    parts.push_back({PartKind::kOrder, order_depth, keys.DistinctAt(order_depth), 0});
  }
  if (has_keys) parts.push_back({PartKind::kKeys, 0, keys.size(), 0});
  return parts;
}

// Ranges of the mix that no part answers, or only one that most of them pass.
double UnansweredRanges(const std::vector<PartPlan>& parts, const QueryMix& mix) {
  double answered = 0;
  bool has_order = false;
  for (const PartPlan& part : parts) {
    if (part.kind == PartKind::kPrefixes) answered += static_cast<double>(mix.ranges[part.depth]);
    if (part.kind != PartKind::kOrder) continue;
    has_order = true;
    for (size_t depth = part.depth - 1; depth <= kMaxDepth; depth++) {
      answered += static_cast<double>(mix.ranges[depth]);
    }
  }
  const double unheard = has_order ? 0 : mix.least_share * static_cast<double>(mix.count());
  return static_cast<double>(mix.range_count()) - answered + unheard;
}

// Parts that share `bits`, and how many queries of the mix pass them by mistake.
struct Plan {
  std::vector<PartPlan> parts;
  double mistakes = 0;
};

Plan PlanWith(const KeyList& keys, const Options& options, size_t order_depth, double bits) {
  Plan plan;
  plan.parts = PartsOf(keys, options, order_depth);
  const auto count = static_cast<double>(keys.size());
  const auto share_out = [&](double level) {
    double sum = 0;
    plan.mistakes = UnansweredRanges(plan.parts, options.mix);
    for (PartPlan& part : plan.parts) {
      const auto entries = static_cast<double>(part.entries);
      const double weight = WeightOf(part, options.mix);
      double width = level + std::log2(weight * count / entries);
      width = std::clamp(width, kLeastBitsPerEntry, kMostBitsPerEntry);
      plan.mistakes += weight * std::exp2(-width);
      if (part.kind == PartKind::kOrder) width += ExtraBits(part, width + 1.6);
      part.bits = width * entries;
      sum += part.bits;
    }
    return sum;
  };
  double low = -40, high = 40;
  for (int step = 0; step < 40; step++) {
    const double middle = (low + high) / 2;
    (share_out(middle) <= bits ? low : high) = middle;
  }
  // What the limits of each part left over, or took too much, is the last one's.
  const double left = bits - share_out(low);
  plan.parts.back().bits = std::max(1.0, plan.parts.back().bits + left);
  return plan;
}

}  // namespace

std::vector<PartPlan> PlanParts(const KeyList& keys, const Options& options, double bits) {
  Plan best;
  for (const size_t order_depth : OrderDepths(keys, options)) {
    Plan plan = PlanWith(keys, options, order_depth, bits);
    if (best.parts.empty() || plan.mistakes < best.mistakes) best = std::move(plan);
  }
  return best.parts;
}

}  // namespace rocksieve::range
