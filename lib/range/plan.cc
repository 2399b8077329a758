// SPDX-License-Identifier: Apache-2.0
#include "lib/range/plan.h"

#include <algorithm>
#include <cmath>

#include "lib/range/code_set_builder.h"

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

// A part keeps this share of all queries even if none of them are its own: what is asked changes
// more quickly than files.
constexpr double kLeastShare = 0.02;
constexpr double kCellsOfSmallRange = 2;

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
  const double all = static_cast<double>(mix.lookups + mix.range_count());
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
      // Where keys are not kept apart, it is asked for them, too.
      return std::max(weight + static_cast<double>(mix.lookups), kLeastShare * kOrderWeight * all);
    case PartKind::kKeys:
      weight = static_cast<double>(mix.lookups);
      break;
  }
  return std::max(weight, kLeastShare * all);
}

// Lengths of the prefixes that are asked for most, if at all: between the common prefix and what
// the order is asked for.
std::vector<size_t> LengthsFromQueries(const KeyList& keys, const QueryMix& mix, size_t below) {
  const double least = kLeastShare * static_cast<double>(mix.range_count());
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

std::vector<PartPlan> PartsOf(const KeyList& keys, const Options& options) {
  // Keys of one length are numbers for all that anybody knows; of text, neighbours say nothing.
  const bool has_numbers =
      keys.shortest() == keys.longest() && keys.longest() <= kMaxDepth && keys.longest() > 0;
  size_t order_depth = has_numbers ? keys.longest() : 0;
  if (options.order_depth >= 0) order_depth = static_cast<size_t>(options.order_depth);
  const bool has_keys = order_depth < keys.longest() || order_depth == 0;

  std::vector<size_t> lengths;
  for (const size_t length : options.prefix_lengths) {
    if (length > 0 && (has_keys || length < order_depth)) lengths.push_back(length);
  }
  if (options.prefix_lengths[0] == 0 && options.mix.range_count() > 0) {
    const size_t deepest = std::min(keys.longest(), kMaxDepth);
    lengths =
        LengthsFromQueries(keys, options.mix, order_depth > 0 ? order_depth - 1 : deepest + 1);
  } else if (options.prefix_lengths[0] == 0 && keys.longest() > 0) {
    lengths = LengthsFromKeys(keys, order_depth > 0 ? order_depth : keys.longest());
  }
  std::vector<PartPlan> parts;
  for (const size_t length : lengths) {
    parts.push_back({PartKind::kPrefixes, length, keys.DistinctAt(length), 0});
  }
  if (order_depth > 0) {
    parts.push_back({PartKind::kOrder, order_depth, keys.DistinctAt(order_depth), 0});
  }
  if (has_keys) parts.push_back({PartKind::kKeys, 0, keys.size(), 0});
  return parts;
}

}  // namespace

std::vector<PartPlan> PlanParts(const KeyList& keys, const Options& options, double bits) {
  std::vector<PartPlan> parts = PartsOf(keys, options);
  const auto count = static_cast<double>(keys.size());
  const auto share_out = [&](double level) {
    double sum = 0;
    for (PartPlan& part : parts) {
      const auto entries = static_cast<double>(part.entries);
      double width = level + std::log2(WeightOf(part, options.mix) * count / entries);
      width = std::clamp(width, kLeastBitsPerEntry, kMostBitsPerEntry);
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
  parts.back().bits += std::max(bits - share_out(low), 1 - parts.back().bits);
  return parts;
}

}  // namespace rocksieve::range
