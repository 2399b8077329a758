// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/hull.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "lib/filter/family.h"

namespace rocksieve {
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
}

double Hull::fewest_bits() const {
  if (curves_.empty()) return fixed_bits_;
  double fewest = std::numeric_limits<double>::infinity();
  for (const Curve& curve : curves_) fewest = std::min(fewest, curve.points.front().bits_per_key);
  return fewest;
}

double Hull::BitsAt(double price) const {
  if (stretches_.empty()) return fixed_bits_;
  const double log_price = std::log(std::max(price, std::numeric_limits<double>::min()));
  const auto stretch =
      std::partition_point(stretches_.begin(), stretches_.end(),
                           [&](const Stretch& s) { return s.end_log_price < log_price; });
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

}  // namespace rocksieve
