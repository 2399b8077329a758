// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/cost_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/filter/family.h"
#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/positions.h"
#include "lib/sketch/rateless_iblt.h"

namespace rocksieve::join {
namespace {

// As `./run bench join --prices` prints them, with ROCKSIEVE_ISA of each, on a Zen 5; an old
// processor takes up to twice as long for all of it. Where sessions of the grid were nearer to
// something else, that stands here: keys, lists, and filters with AVX-512. reading_ns is of
// RocksDB's blocks, by bench reading.
constexpr PartPrices kPortable = {.filter_build_ns = 34,
                                  .filter_query_ns = 17,
                                  .list_send_ns = 24,
                                  .list_receive_ns = 27,
                                  .keys_send_ns = 34,
                                  .keys_receive_ns = 56,
                                  .reading_ns = 14,
                                  .compression_ns = 9.5,
                                  .symbols_send_ns = 9.9,
                                  .symbols_receive_ns = 9.7,
                                  .symbols_difference_ns = 980,
                                  .sketch_send_ns = 50,
                                  .sketch_receive_ns = 67,
                                  .sketch_difference_ns = 340,
                                  .scan_ns = 13};
constexpr PartPrices kSse2 = [] {
  PartPrices prices = kPortable;
  prices.filter_query_ns = 8.2;
  return prices;
}();
constexpr PartPrices kAvx2 = [] {
  PartPrices prices = kPortable;
  prices.filter_build_ns = 28;
  prices.filter_query_ns = 7.8;
  return prices;
}();
constexpr PartPrices kAvx512 = [] {
  PartPrices prices = kAvx2;
  prices.filter_build_ns = 18;
  prices.symbols_send_ns = 3.6;
  prices.symbols_receive_ns = 3.9;
  prices.sketch_send_ns = 72;
  prices.sketch_receive_ns = 80;
  prices.sketch_difference_ns = 395;
  return prices;
}();

}  // namespace

const PartPrices& PricesOf(Isa isa) {
  if (isa == Isa::kAvx512) return kAvx512;
  if (isa == Isa::kAvx2) return kAvx2;
  return isa == Isa::kSse2 ? kSse2 : kPortable;  // kNeon was not measured
}

// While a link carries messages of some ranges, both sides compute for others.
double PriceOfLink(double bytes_per_second, int threads) {
  return 8e-9 * bytes_per_second / (2 * threads);
}

CostWeights WeightsForPrice(double bits_per_cpu_ns, Isa isa) {
  CostWeights weights;
  weights.bits_per_cpu_ns = bits_per_cpu_ns;
  weights.prices = PricesOf(isa);
  return weights;
}

namespace {

constexpr double kFrameBits = 8 * 50;  // of a filter block and its part of a step
constexpr double kSumBits = 8 * 24;    // a count and a sum
constexpr double kFewestSketched = 60;
constexpr double kPlanBits = 8 * 40;  // of a sketch, before it

// Binary entropy.
double Entropy(double share) {
  if (share <= 0 || share >= 1) return 0;
  return -(share * std::log2(share) + (1 - share) * std::log2(1 - share));
}

double MatchBitmapBits(const RangeEstimate& estimate) {
  return estimate.mine * Entropy(estimate.common / std::max(estimate.mine, 1.0)) + kSumBits;
}

// Of symbols for so many differences, of which a part must be named in the answer, from a side with
// so many keys to one with others.
Cost CostOfSymbols(double mine, double theirs, double differences, double named,
                   const CostWeights& weights) {
  const double id_bits = IdBitsFor(mine + theirs, differences);
  const double symbols = SymbolsFor(differences);
  const PartPrices& prices = weights.prices;
  return {symbols * (id_bits + 12),
          named * (id_bits + 1.5 - std::log2(std::max(1.0, named))) + kSumBits,
          prices.symbols_send_ns * std::log(symbols) * mine,
          prices.symbols_receive_ns * std::log(symbols) * theirs +
              prices.symbols_difference_ns * differences};
}

// Of one layer, and in the answer its empty-cell bitmap at the receiver, of which `marked` name a
// key of the sender.
std::optional<Cost> LayerCost(double keys, double differences, int cells_log2, double senders_keys,
                              double marked) {
  if (differences < kFewestSketched) return std::nullopt;
  const std::optional<double> sketch = SketchBits(keys, differences, cells_log2);
  if (!sketch) return std::nullopt;
  Cost cost;
  cost.sent_bits = *sketch + kPlanBits;
  cost.answered_bits = senders_keys * Entropy(std::min(0.5, marked / std::max(1.0, senders_keys)));
  return cost;
}

// A layer sent by the other side than the first one, between what that left, and symbols. Its
// computing is part of the first one's.
std::optional<Cost> SecondLayerCost(const RangeEstimate& estimate, int cells_log2,
                                    const CostWeights& weights) {
  const double differences = estimate.differences();
  const double keys = std::max(estimate.mine, estimate.theirs);
  std::optional<Cost> cost = LayerCost(keys, SketchedDifferences(differences, 0), cells_log2,
                                       estimate.mine, estimate.mine_only());
  if (!cost) return std::nullopt;
  const double left = LeftBySketch(estimate, std::ldexp(keys, cells_log2));
  // What the receiver sets aside, it lists.
  const double listed = estimate.theirs_only() + estimate.mine_only() / std::exp2(cells_log2);
  cost->answered_bits += listed * (ListBitsFor(10 * keys / 4) + 2.6);
  *cost += CostOfSymbols(estimate.theirs, estimate.mine, left, 0.3 * left, weights).Turned();
  return cost;
}

}  // namespace

RangeEstimate SecondEstimate(const RangeEstimate& first, double left) {
  const double all = 2 * first.mine_only() + first.theirs_only();
  const double share = all == 0 ? 0.5 : first.theirs_only() / all;
  return {first.common + share * left, first.common + (1 - share) * left, first.common, 0};
}

Cost& Cost::operator+=(const Cost& more) {
  sent_bits += more.sent_bits;
  answered_bits += more.answered_bits;
  own_ns += more.own_ns;
  other_ns += more.other_ns;
  return *this;
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
  const double ns = weights.prices.compression_ns * keys.EachFrontCoded(estimate.mine) / 8;
  return ns * weights.bits_per_cpu_ns > saved_bits ? Compression::kQuick : Compression::kDense;
}

Cost ScanCost(double mine, double theirs, const CostWeights& weights) {
  return {0, 0, weights.prices.scan_ns * mine, weights.prices.scan_ns * theirs};
}

Cost KeysCost(const RangeEstimate& estimate, const KeyBits& keys, const CostWeights& weights) {
  const bool dense = BestCompression(estimate, keys, weights) == Compression::kDense;
  const double each = dense ? keys.Each(estimate.mine) : keys.EachFrontCoded(estimate.mine);
  const PartPrices& prices = weights.prices;
  return {
      estimate.mine * each, MatchBitmapBits(estimate),
      prices.keys_send_ns * estimate.mine +
          prices.reading_ns * std::max(keys.all_keys, estimate.mine) +
          (dense ? prices.compression_ns * estimate.mine * keys.EachFrontCoded(estimate.mine) / 8
                 : 0),
      prices.keys_receive_ns * estimate.theirs};
}

Cost ListCost(const RangeEstimate& estimate, const CostWeights& weights) {
  // Flags take longer the less can be foreseen of them. Fitted to sessions of the grid.
  constexpr double kReadNsPerFlagBit = 7, kWriteNsPerFlagBit = 13;
  const double flags = MatchBitmapBits(estimate);
  return {estimate.mine * (ListBitsFor(estimate.theirs) + 1.53), flags,
          weights.prices.list_send_ns * estimate.mine + kReadNsPerFlagBit * flags,
          // Half of it to sort what it has, half to read the list.
          weights.prices.list_receive_ns * (estimate.mine + estimate.theirs) / 2 +
              kWriteNsPerFlagBit * flags};
}

Cost FilterCost(Family family, const RangeEstimate& estimate, double width,
                const CostWeights& weights) {
  const FamilyEntry& filter = *FindFamily(family);
  const double per_key =
      filter.bits_per_halving * width + filter.extra_bits + (width == std::floor(width) ? 0 : 0.01);
  // The prices are those of five bits; wider ones take longer. Fitted to sessions of the grid.
  const double share = 0.8 + 0.04 * width;
  return {estimate.mine * per_key + 15 * width + kFrameBits, 0,
          share * weights.prices.filter_build_ns * estimate.mine,
          share * weights.prices.filter_query_ns * estimate.theirs};
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
  return CostOfSymbols(estimate.mine, estimate.theirs,
                       estimate.differences() + 2 * estimate.common_error,
                       estimate.mine_only() + estimate.common_error, weights);
}

std::optional<Cost> SketchCost(const RangeEstimate& estimate, int cells_log2,
                               const CostWeights& weights) {
  const double differences = SketchedDifferences(estimate.differences(), 2 * estimate.common_error);
  const double keys = std::max(estimate.mine, estimate.theirs);
  std::optional<Cost> cost =
      LayerCost(keys, differences, cells_log2, estimate.mine, estimate.mine_only());
  if (!cost) return std::nullopt;
  const double left = LeftBySketch(estimate, std::ldexp(keys, cells_log2));
  const RangeEstimate second = SecondEstimate(estimate, left);
  // Either way symbols are the end.
  const Cost symbols = CostOfSymbols(estimate.mine, estimate.theirs, left, 0.3 * left, weights);
  Cost rest = symbols;
  for (int second_cells_log2 : {3, 5, 7}) {
    const std::optional<Cost> layer = SecondLayerCost(second, second_cells_log2, weights);
    if (layer && layer->bits() < rest.bits()) rest = layer->Turned();
  }
  rest.own_ns = symbols.own_ns + weights.prices.sketch_send_ns * estimate.mine;
  rest.other_ns = symbols.other_ns + weights.prices.sketch_receive_ns * estimate.theirs +
                  weights.prices.sketch_difference_ns * differences;
  *cost += rest;
  return cost;
}

int BestSecondLayer(const RangeEstimate& estimate, const CostWeights& weights) {
  double best = SymbolsCost(estimate, weights).bits();
  int best_cells_log2 = 0;
  for (int cells_log2 = 1; cells_log2 <= kMostCellsLog2; cells_log2++) {
    const std::optional<Cost> cost = SecondLayerCost(estimate, cells_log2, weights);
    if (!cost || cost->bits() >= best) continue;
    best = cost->bits();
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

namespace {

// Numbers of a sketch per difference, and the bits of each, depend on the differences and on cells
// per difference: on the first smoothly, on the logarithm of the second with period 1, but that the
// numbers take a bit more.
struct Layout {
  double numbers_per_difference = 0;
  double check_bits_per_difference = 0;
  int field_bits = 0;

  double BitsPerDifference(int more_field_bits) const {
    const int bits = std::max(pinsketch::Field::kLeastBits, field_bits + more_field_bits);
    return numbers_per_difference * bits + check_bits_per_difference;
  }
};

constexpr int kLeastLog2 = 5, kMostLog2 = 20;  // of differences
constexpr int kSteps = 8;                      // of one period
constexpr int kTableCellsLog2 = 8;             // per difference, where it is tabulated

class Layouts {
 public:
  Layouts() {
    for (int log2 = kLeastLog2; log2 <= kMostLog2; log2++) {
      for (int step = 0; step <= kSteps; step++) {
        const double differences = std::ldexp(1.0, log2);
        const double keys = differences * std::exp2(static_cast<double>(step) / kSteps);
        const pinsketch::Plan plan = pinsketch::MakePlan(keys, differences, kTableCellsLog2);
        const double check_bits = double{pinsketch::kCheckBits} * plan.Checks();
        const double numbers =
            (8 * static_cast<double>(plan.SketchBytes()) - check_bits) / plan.field_bits;
        layouts_[log2 - kLeastLog2][step] = {numbers / differences, check_bits / differences,
                                             plan.field_bits};
      }
    }
  }

  // Between the layouts of the table.
  std::optional<double> Bits(double differences, double cells_per_difference_log2) const {
    const double whole = std::floor(cells_per_difference_log2);
    const double steps = kSteps * (cells_per_difference_log2 - whole);
    const double log2 = std::clamp(std::log2(differences), double{kLeastLog2}, double{kMostLog2});
    const int step = std::min(kSteps - 1, static_cast<int>(steps));
    const int row = std::min(kMostLog2 - 1, static_cast<int>(log2)) - kLeastLog2;
    const int more_field_bits = static_cast<int>(whole) - kTableCellsLog2;
    const Layout& nearest = layouts_[row][step];
    if (nearest.field_bits + more_field_bits > pinsketch::Field::kMostBits) return std::nullopt;
    const auto at = [&](int in_row) {
      const double low = layouts_[in_row][step].BitsPerDifference(more_field_bits);
      const double high = layouts_[in_row][step + 1].BitsPerDifference(more_field_bits);
      return std::lerp(low, high, steps - step);
    };
    return differences * std::lerp(at(row), at(row + 1), log2 - kLeastLog2 - row);
  }

 private:
  Layout layouts_[kMostLog2 - kLeastLog2 + 1][kSteps + 1];
};

}  // namespace

std::optional<double> SketchBits(double keys, double differences, int cells_log2) {
  static const Layouts layouts;
  return layouts.Bits(differences, std::log2(keys / differences) + cells_log2);
}

}  // namespace rocksieve::join
