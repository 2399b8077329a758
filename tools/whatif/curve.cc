#include "tools/whatif/curve.h"

#include <cmath>

#include "tools/whatif/prediction.h"

namespace rocksieve::tools {
namespace {

constexpr double kStep = 0.5, kLargestBits = 64;

double Between(double low, double high, double share) { return low + (high - low) * share; }

}  // namespace

double Curve::ReadsAt(double filter_bytes) const {
  for (size_t i = 1; i < points.size(); i++) {
    const CurvePoint &low = points[i - 1], &high = points[i];
    if (filter_bytes < low.filter_bytes || filter_bytes > high.filter_bytes) continue;
    const double share = (filter_bytes - low.filter_bytes) / (high.filter_bytes - low.filter_bytes);
    if (low.reads <= 0 || high.reads <= 0) return Between(low.reads, high.reads, share);
    return std::exp(Between(std::log(low.reads), std::log(high.reads), share));
  }
  return -1;
}

double Curve::BitsFor(double filter_bytes) const {
  if (points.empty() || points.front().filter_bytes > filter_bytes) return -1;
  for (size_t i = 1; i < points.size(); i++) {
    const CurvePoint &low = points[i - 1], &high = points[i];
    if (high.filter_bytes < filter_bytes) continue;
    return Between(low.bits, high.bits,
                   (filter_bytes - low.filter_bytes) / (high.filter_bytes - low.filter_bytes));
  }
  return points.back().bits;
}

double Curve::BytesFor(double reads) const {
  for (size_t i = 0; i < points.size(); i++) {
    if (points[i].reads > reads) continue;
    if (i == 0) return points[0].filter_bytes;
    const CurvePoint &low = points[i - 1], &high = points[i];
    if (high.reads <= 0 || reads <= 0) return high.filter_bytes;
    const double share = std::log(low.reads / reads) / std::log(low.reads / high.reads);
    return Between(low.filter_bytes, high.filter_bytes, share);
  }
  return -1;
}

Curve CurveOf(const PlannedTree& tree, const PolicySpec& family, double least, double most) {
  Curve curve;
  curve.name = family.FamilyName();
  curve.family = family;
  const double byte_per_entry_bit = static_cast<double>(tree.Entries()) / 8;
  for (double bits = 1; bits <= kLargestBits; bits += kStep) {
    PolicySpec policy;
    if (!family.WithBits(bits, &policy).ok()) continue;
    const Prediction prediction = Predict(tree, policy);
    const CurvePoint point = {bits, prediction.filter_bytes, prediction.reads};
    // Keeps the last point below the range, so that the curve begins before it. Rounding up makes
    // several settings of one size, of which the best is kept.
    if (!curve.points.empty()) {
      const CurvePoint& last = curve.points.back();
      const bool below = point.filter_bytes <= least * byte_per_entry_bit;
      const bool same = point.filter_bytes <= last.filter_bytes * 1.0001;
      if (same && point.reads >= last.reads) continue;
      if (below || same) curve.points.pop_back();
    }
    curve.points.push_back(point);
    if (point.filter_bytes >= most * byte_per_entry_bit) break;
  }
  return curve;
}

}  // namespace rocksieve::tools
