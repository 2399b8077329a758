// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/hull.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "lib/filter/family.h"
#include "lib/format/block.h"

namespace rocksieve {
namespace {

constexpr double kFewestBits = 1, kStep = 0.25;
constexpr int kSteps = static_cast<int>((kMostCurveBits - kFewestBits) / kStep);

double SettingAt(int step) { return kFewestBits + kStep * step; }

// The two keys of the range that a block stores; of such a length, usually. In the compact frame
// their common beginning, and where they differ.
double RangeKeysBits(bool compact) { return compact ? 8 * 12 : 8 * 32; }

Budget BudgetFor(const FamilyEntry& family, uint64_t keys, double amount, bool is_rate,
                 bool thorough) {
  const FrameVersion version = FrameVersionFor(family, keys);
  Budget budget;
  budget.is_rate = is_rate;
  budget.amount = amount;
  budget.frame_bits = 8.0 * static_cast<double>(FrameBytesWithoutRange(version, /*salted=*/false));
  budget.thorough = thorough;
  budget.compact = version == FrameVersion::kCompact;
  return budget;
}

double BlockBits(const FamilyEntry& family, uint64_t keys, const Budget& budget) {
  return family.expected_payload_bits(keys, budget) + budget.frame_bits +
         RangeKeysBits(budget.compact);
}

// By step, computed once: for Bloom filters it takes milliseconds.
const std::vector<double>& RatesOfLarge(const FamilyEntry& family, bool thorough) {
  // Never destroyed: background threads may build filters while the process exits.
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<std::pair<Family, bool>, std::vector<double>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::vector<double>& rates = known[{family.family, thorough}];
  for (int step = static_cast<int>(rates.size()); step <= kSteps; step++) {
    rates.push_back(family.rate_of_large(SettingAt(step), thorough));
  }
  return rates;
}

// With rising bits, and none beyond kMostCurveBits.
void AddPoint(double bits_per_key, double rate, double setting, std::vector<RatePoint>* curve) {
  if (setting > kMostCurveBits) return;
  if (!curve->empty() && bits_per_key <= curve->back().bits_per_key) curve->pop_back();
  curve->push_back({bits_per_key, rate, setting});
}

std::vector<RatePoint> CurveOfColumns(const FamilyEntry& family, uint64_t keys, bool thorough) {
  const auto count = static_cast<double>(keys);
  std::vector<RatePoint> curve;
  for (int columns = 1; columns <= family.max_bits_per_key - 2; columns++) {
    const double rate = std::ldexp(1, -columns);
    const Budget budget = BudgetFor(family, keys, rate, true, thorough);
    const double bits = BlockBits(family, keys, budget) / count;
    // A spec's bits per key are of the whole block but for the range keys.
    const double setting = bits - RangeKeysBits(budget.compact) / count;
    AddPoint(bits, rate, std::min(setting, family.max_bits_per_key), &curve);
  }
  return curve;
}

std::vector<RatePoint> CurveOfSteps(const FamilyEntry& family, uint64_t keys, bool thorough) {
  const auto count = static_cast<double>(keys);
  std::vector<RatePoint> curve;
  for (int step = 0; step <= kSteps; step++) {
    const double setting = SettingAt(step);
    if (setting < family.min_bits_per_key || setting > family.max_bits_per_key) continue;
    const Budget budget = BudgetFor(family, keys, setting, false, thorough);
    // The rate of small filters hardly differs from that of large ones.
    const double rate = family.rate_of_large == nullptr ? family.expected_rate(keys, budget)
                                                        : RatesOfLarge(family, thorough)[step];
    AddPoint(BlockBits(family, keys, budget) / count, rate, setting, &curve);
  }
  return curve;
}

}  // namespace

double FrameBitsOfFilter(Family family, uint64_t keys) {
  const Budget budget = BudgetFor(*FindFamily(family), keys, 1, false, false);
  return budget.frame_bits + RangeKeysBits(budget.compact);
}

std::vector<RatePoint> RateCurve(Family family, uint64_t keys, bool thorough) {
  const FamilyEntry* const entry = FindFamily(family);
  if (entry == nullptr || keys == 0) return {RatePoint()};
  return entry->has_columns ? CurveOfColumns(*entry, keys, thorough)
                            : CurveOfSteps(*entry, keys, thorough);
}

namespace {

// Share of the way to the neighbouring slopes that a stretch takes up. 1 would leave no price at
// which files get the whole columns that are best for them.
constexpr double kStretch = 0.4;

// This close to a whole number of columns, a filter takes the whole number.
constexpr double kNearColumn = 0.04;

double Slope(const Hull::Vertex& a, const Hull::Vertex& b) {
  return (a.cost - b.cost) / (b.bits - a.bits);
}

std::vector<Hull::Vertex> LowerHull(std::vector<Hull::Vertex> points) {
  std::sort(points.begin(), points.end(), [](const Hull::Vertex& a, const Hull::Vertex& b) {
    return a.bits != b.bits ? a.bits < b.bits : a.cost < b.cost;
  });
  std::vector<Hull::Vertex> hull;
  for (const Hull::Vertex& point : points) {
    if (!hull.empty() && (point.cost >= hull.back().cost || point.bits <= hull.back().bits)) {
      continue;
    }
    while (hull.size() >= 2 &&
           Slope(hull[hull.size() - 2], hull.back()) <= Slope(hull.back(), point)) {
      hull.pop_back();
    }
    hull.push_back(point);
  }
  return hull;
}

// The curve's point at so many bits; false if it does not reach there.
bool PointAt(const std::vector<RatePoint>& curve, double bits, RatePoint* point) {
  if (curve.empty() || bits < curve.front().bits_per_key) return false;
  const auto above =
      std::upper_bound(curve.begin(), curve.end(), bits,
                       [](double value, const RatePoint& p) { return value < p.bits_per_key; });
  if (above == curve.end()) {
    *point = curve.back();
    return true;
  }
  const RatePoint &a = *std::prev(above), &b = *above;
  const double share = (bits - a.bits_per_key) / (b.bits_per_key - a.bits_per_key);
  *point = {bits, a.rate + share * (b.rate - a.rate), a.setting + share * (b.setting - a.setting)};
  return true;
}

}  // namespace

double CostModel::ProbeNs(Family family) const {
  const auto found = probe_ns.find(family);
  if (found != probe_ns.end()) return found->second;
  const FamilyEntry* const entry = FindFamily(family);
  return entry == nullptr ? 0 : entry->probe_ns;
}

Hull::Hull(const std::vector<Family>& families, uint64_t keys, const CostModel& cost_model,
           bool thorough) {
  const auto count = static_cast<double>(std::max<uint64_t>(keys, 1));
  for (const Family family : families) {
    if (family == Family::kNone) continue;
    const double bits = FrameBitsOfFilter(family, std::max<uint64_t>(keys, 1)) / count;
    fixed_bits_ = fixed_bits_ == 0 ? bits : std::min(fixed_bits_, bits);
  }
  std::vector<Vertex> points = {{Family::kNone, fixed_bits_, 1}};
  for (const Family family : families) {
    if (family == Family::kNone) continue;
    curves_.push_back({family, cost_model.ProbeCharge(family),
                       RateCurve(family, std::max<uint64_t>(keys, 1), thorough)});
    for (const RatePoint& point : curves_.back().points) {
      points.push_back({family, point.bits_per_key, point.rate + curves_.back().charge});
    }
  }
  vertices_ = LowerHull(std::move(points));

  std::vector<double> logs;  // of the slopes, which fall
  for (size_t i = 0; i + 1 < vertices_.size(); i++) {
    logs.push_back(std::log(Slope(vertices_[i], vertices_[i + 1])));
  }
  for (size_t i = logs.size(); i-- > 0;) {
    double reach = 1;
    if (i > 0) reach = std::min(reach, logs[i - 1] - logs[i]);
    if (i + 1 < logs.size()) reach = std::min(reach, logs[i] - logs[i + 1]);
    reach *= kStretch / 2;
    stretches_.push_back(
        {logs[i] - reach, logs[i] + reach, vertices_[i + 1].bits, vertices_[i].bits});
  }
  if (stretches_.empty()) return;
  const double begin = stretches_.front().begin_log_price;
  steps_per_log_ = kSteps / (stretches_.back().end_log_price - begin);
  size_t first = 0;
  for (size_t i = 0; i < kSteps; i++) {
    // No later than it is, whatever rounding does.
    const double price = begin + (static_cast<double>(i) - 1e-6) / steps_per_log_;
    while (first + 1 < stretches_.size() && stretches_[first].end_log_price < price) first++;
    first_of_step_[i] = static_cast<uint16_t>(first);
  }
}

double Hull::fewest_bits() const {
  if (curves_.empty()) return fixed_bits_;
  double fewest = std::numeric_limits<double>::infinity();
  for (const Curve& curve : curves_) fewest = std::min(fewest, curve.points.front().bits_per_key);
  return fewest;
}

double Hull::BitsAtLog(double log_price) const {
  if (stretches_.empty()) return fixed_bits_;
  const double begin = stretches_.front().begin_log_price;
  const double step = std::min(std::max(0.0, (log_price - begin) * steps_per_log_), kSteps - 1.0);
  auto stretch = stretches_.begin() + first_of_step_[static_cast<size_t>(step)];
  while (stretch != stretches_.end() && stretch->end_log_price < log_price) ++stretch;
  if (stretch == stretches_.end()) return stretches_.back().fewer_bits;
  if (log_price <= stretch->begin_log_price) return stretch->more_bits;
  const double share =
      (log_price - stretch->begin_log_price) / (stretch->end_log_price - stretch->begin_log_price);
  return stretch->more_bits + share * (stretch->fewer_bits - stretch->more_bits);
}

double Hull::CostAt(double bits) const {
  const auto above =
      std::upper_bound(vertices_.begin(), vertices_.end(), bits,
                       [](double value, const Vertex& vertex) { return value < vertex.bits; });
  if (above == vertices_.end()) return vertices_.back().cost;
  if (above == vertices_.begin()) return above->cost;
  const Vertex& below = *std::prev(above);
  const double share = (bits - below.bits) / (above->bits - below.bits);
  return below.cost + share * (above->cost - below.cost);
}

FilterChoice Hull::Choose(double bits) const {
  FilterChoice best;
  double least_cost = std::numeric_limits<double>::infinity();
  const double fewest = fewest_bits();
  // Below the smallest filter, it or none, whichever is nearer.
  if (curves_.empty() || bits < (fewest + fixed_bits_) / 2) return best;
  bits = std::max(bits, fewest);
  for (const Curve& curve : curves_) {
    RatePoint point;
    if (!PointAt(curve.points, bits, &point) || point.rate + curve.charge >= least_cost) continue;
    least_cost = point.rate + curve.charge;
    best = {curve.family, point.bits_per_key, point.rate, 0, point.setting};
    if (!FindFamily(curve.family)->has_columns) continue;
    for (const RatePoint& whole : curve.points) {
      if (std::abs(whole.bits_per_key - point.bits_per_key) > kNearColumn) continue;
      best.whole_columns = static_cast<int>(std::lround(-std::log2(whole.rate)));
      best.bits_per_key = whole.bits_per_key;
      best.rate = whole.rate;
      best.setting = whole.setting;
    }
  }
  return best;
}

bool RangesPay(const Hull& lookup_hull, const Hull& range_hull, const range::QueryMix& mix,
               double bits_per_key) {
  const auto count = static_cast<double>(mix.count());
  const double heard = count == 0 ? 0.5 : static_cast<double>(mix.range_count()) / count;
  const double share = std::max(heard, mix.least_share);
  const double with_lookup_filter = (1 - share) * lookup_hull.CostAt(bits_per_key) + share;
  const double with_range_filter =
      (1 - share + range::kCellsOfSmallRange * share) * range_hull.CostAt(bits_per_key);
  return with_range_filter < with_lookup_filter;
}

}  // namespace rocksieve
