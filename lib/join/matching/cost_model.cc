// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/cost_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/filter/family.h"
#include "lib/sketch/rateless_iblt.h"

namespace rocksieve::join {
namespace {

constexpr double kFrameBits = 8 * 50;  // of a filter block and its part of a step
constexpr double kSumBits = 8 * 24;    // a count and a sum
constexpr double kFewestSketched = 60;
constexpr double kMostIdBits = 21;  // of a cell in a group
constexpr double kDifferencesPerGroup = 15;

// Binary entropy.
double Entropy(double share) {
  if (share <= 0 || share >= 1) return 0;
  return -(share * std::log2(share) + (1 - share) * std::log2(1 - share));
}

double MatchBitmapBits(const RangeEstimate& estimate) {
  return estimate.mine * Entropy(estimate.common / std::max(estimate.mine, 1.0)) + kSumBits;
}

// Of symbols for so many differences, of which a part must be named.
double SymbolBits(double keys_of_both, double differences, double named) {
  const double id_bits = IdBitsFor(keys_of_both, differences);
  return SymbolsFor(differences) * (id_bits + 12) +
         named * (id_bits + 1.5 - std::log2(std::max(1.0, named))) + kSumBits;
}

// To make symbols for so many differences on both sides, and to decode them on one.
double SymbolsNs(double keys_of_both, double differences, const CostWeights& weights) {
  return weights.symbols_key_ns * std::log(SymbolsFor(differences)) * keys_of_both +
         weights.symbols_difference_ns * differences;
}

// Of one layer, and its empty-cell bitmap at the receiver, of whose answer `marked` name a key of
// the sender.
std::optional<double> LayerBits(double keys, double differences, int cells_log2,
                                double senders_keys, double marked) {
  if (differences < kFewestSketched) return std::nullopt;
  // An id tells the cells of a group apart.
  const double id_bits =
      std::ceil(std::log2(kDifferencesPerGroup * keys / differences) + cells_log2);
  if (id_bits > kMostIdBits) return std::nullopt;
  return differences * std::max(6.0, id_bits) * 1.04 + 700 +
         senders_keys * Entropy(std::min(0.5, marked / std::max(1.0, senders_keys)));
}

// A layer sent by the other side than the first one, between what that left, and symbols.
std::optional<double> SecondLayerBits(const RangeEstimate& estimate, int cells_log2) {
  const double differences = estimate.differences();
  const double keys = std::max(estimate.mine, estimate.theirs);
  const std::optional<double> layer = LayerBits(keys, SketchedDifferences(differences, 0),
                                                cells_log2, estimate.mine, estimate.mine_only());
  if (!layer) return std::nullopt;
  const double left = LeftBySketch(estimate, std::ldexp(keys, cells_log2));
  // What the receiver sets aside, it lists.
  const double listed = estimate.theirs_only() + estimate.mine_only() / std::exp2(cells_log2);
  return *layer + listed * (ListBitsFor(10 * keys / 4) + 2.6) +
         SymbolBits(2 * keys, left, 0.3 * left);
}

// What a first layer leaves, as the sender of a second one, the first one's receiver, sees it.
RangeEstimate SecondEstimate(const RangeEstimate& first, double left) {
  const double all = 2 * first.mine_only() + first.theirs_only();
  const double share = all == 0 ? 0.5 : first.theirs_only() / all;
  return {first.common + share * left, first.common + (1 - share) * left, first.common, 0};
}

}  // namespace

// While a link carries messages of some ranges, both sides compute for others.
double PriceOfLink(double bytes_per_second, int threads) {
  return 8e-9 * bytes_per_second / (2 * threads);
}

double RangeEstimate::mine_only() const { return std::max(0.0, mine - common); }
double RangeEstimate::theirs_only() const { return std::max(0.0, theirs - common); }

double KeyBits::Each(double shipped) const {
  const double doublings = std::log2(std::max(1.0, all_keys / std::max(1.0, shipped)));
  const double sparse_doublings = std::log2(kSparse);
  if (doublings > sparse_doublings) return each_sparse + doublings - sparse_doublings;
  return each + (each_sparse - each) * doublings / sparse_doublings;
}

double KeyBits::EachFrontCoded(double shipped) const {
  return front_coded + std::log2(std::max(1.0, all_keys / std::max(1.0, shipped)));
}

Compression BestCompression(const RangeEstimate& estimate, const KeyBits& keys,
                            const CostWeights& weights) {
  const double saved_bits = keys.EachFrontCoded(estimate.mine) - keys.Each(estimate.mine);
  return weights.compression_ns * weights.bits_per_cpu_ns > saved_bits ? Compression::kQuick
                                                                       : Compression::kDense;
}

Cost KeysCost(const RangeEstimate& estimate, const KeyBits& keys, const CostWeights& weights) {
  const bool dense = BestCompression(estimate, keys, weights) == Compression::kDense;
  const double each = dense ? keys.Each(estimate.mine) : keys.EachFrontCoded(estimate.mine);
  return {estimate.mine * each + MatchBitmapBits(estimate),
          weights.keys_ns * (estimate.mine + estimate.theirs) +
              weights.reading_ns * std::max(keys.all_keys, estimate.mine) +
              (dense ? weights.compression_ns * estimate.mine : 0)};
}

Cost ListCost(const RangeEstimate& estimate, const CostWeights& weights) {
  return {estimate.mine * (ListBitsFor(estimate.theirs) + 1.53) + MatchBitmapBits(estimate),
          weights.list_ns * (estimate.mine + estimate.theirs)};
}

Cost FilterCost(Family family, const RangeEstimate& estimate, double width,
                const CostWeights& weights) {
  const FamilyEntry& filter = *FindFamily(family);
  const double per_key =
      filter.bits_per_halving * width + filter.extra_bits + (width == std::floor(width) ? 0 : 0.01);
  return {estimate.mine * per_key + 15 * width + kFrameBits,
          weights.filter_build_ns * estimate.mine + weights.filter_query_ns * estimate.theirs};
}

RangeEstimate AfterFilter(const RangeEstimate& estimate, double width) {
  const double rate = std::exp2(-width);
  const double passed = rate * estimate.theirs_only();
  // The receiver counts what passes, and so knows better than before what both have.
  const double counted = std::sqrt(estimate.theirs_only() * rate * (1 - rate)) / (1 - rate);
  return {estimate.common + passed, estimate.mine, estimate.common,
          std::min(estimate.common_error, counted)};
}

double BestSingleWidth(Family family, const RangeEstimate& estimate,
                       double bits_per_false_positive) {
  const double gained = std::numbers::ln2 * estimate.theirs_only() * bits_per_false_positive;
  if (gained <= 0) return 1;
  const double rate = FindFamily(family)->bits_per_halving * estimate.mine / gained;
  return std::clamp(-std::log2(rate), 1.0, 24.0);
}

Cost SymbolsCost(const RangeEstimate& estimate, const CostWeights& weights) {
  const double both = estimate.mine + estimate.theirs;
  const double differences = estimate.differences() + 2 * estimate.common_error;
  return {SymbolBits(both, differences, estimate.mine_only() + estimate.common_error),
          SymbolsNs(both, differences, weights)};
}

std::optional<Cost> SketchCost(const RangeEstimate& estimate, int cells_log2,
                               const CostWeights& weights) {
  const double differences = SketchedDifferences(estimate.differences(), 2 * estimate.common_error);
  const double keys = std::max(estimate.mine, estimate.theirs);
  const std::optional<double> layer =
      LayerBits(keys, differences, cells_log2, estimate.mine, estimate.mine_only());
  if (!layer) return std::nullopt;
  const double left = LeftBySketch(estimate, std::ldexp(keys, cells_log2));
  double rest = SymbolBits(2 * keys, left, 0.3 * left);
  const RangeEstimate second = SecondEstimate(estimate, left);
  for (int second_cells_log2 : {3, 5, 7}) {
    rest = std::min(rest, SecondLayerBits(second, second_cells_log2).value_or(rest));
  }
  const double both = estimate.mine + estimate.theirs;
  return Cost{*layer + rest, weights.sketch_key_ns * both +
                                 weights.sketch_difference_ns * differences +
                                 SymbolsNs(both, left, weights)};
}

int BestSecondLayer(const RangeEstimate& estimate, const CostWeights& weights) {
  double best = SymbolsCost(estimate, weights).bits;
  int best_cells_log2 = 0;
  for (int cells_log2 = 1; cells_log2 <= kMostCellsLog2; cells_log2++) {
    const std::optional<double> bits = SecondLayerBits(estimate, cells_log2);
    if (!bits || *bits >= best) continue;
    best = *bits;
    best_cells_log2 = cells_log2;
  }
  return best_cells_log2;
}

// Keys that only one side has stay if their cell has a key of the receiver, or two of the sender's
// only, which cancel out; keys of the receiver that stand alone in a differing cell are set aside,
// even if the difference is another key's.
double LeftBySketch(const RangeEstimate& estimate, double cells) {
  const double mine_only = estimate.mine_only();
  return ((2 * mine_only + estimate.theirs_only()) * estimate.theirs + mine_only * mine_only) /
         cells;
}

double SketchedDifferences(double expected, double standard_error) {
  const double spread = std::sqrt(expected + standard_error * standard_error);
  return 1.01 * expected + 1.3 * spread;
}

int ListBitsFor(double receivers_candidates) {
  return static_cast<int>(std::ceil(std::log2(100 * std::max(receivers_candidates, 1.0))));
}

int IdBitsFor(double keys_of_both, double differences) {
  const double pairs = std::max(1.0, keys_of_both) * (std::max(0.0, differences) + 16);
  return static_cast<int>(std::clamp(std::ceil(std::log2(pairs)) + 10, 40.0, 64.0));
}

double SymbolsForRest(double left) { return SymbolsFor(left + 3 * std::sqrt(2 * left) + 3); }

double SymbolsFor(double differences) {
  return ExpectedRatelessSymbols(differences) + std::sqrt(differences) + 2;
}

}  // namespace rocksieve::join
