// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/rate_curve.h"

#include <algorithm>
#include <cmath>
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
class Curve {
 public:
  void Add(double bits_per_key, double rate, double setting) {
    if (setting > kMostCurveBits) return;
    if (!points_.empty() && bits_per_key <= points_.back().bits_per_key) points_.pop_back();
    points_.push_back({bits_per_key, rate, setting});
  }
  std::vector<RatePoint> Take() { return std::move(points_); }

 private:
  std::vector<RatePoint> points_;
};

std::vector<RatePoint> CurveOfColumns(const FamilyEntry& family, uint64_t keys, bool thorough) {
  const auto count = static_cast<double>(keys);
  Curve curve;
  for (int columns = 1; columns <= family.max_bits_per_key - 2; columns++) {
    const double rate = std::ldexp(1, -columns);
    const Budget budget = BudgetFor(family, keys, rate, true, thorough);
    const double bits = BlockBits(family, keys, budget) / count;
    // A spec's bits per key are of the whole block but for the range keys.
    const double setting = bits - RangeKeysBits(budget.compact) / count;
    curve.Add(bits, rate, std::min(setting, family.max_bits_per_key));
  }
  return curve.Take();
}

std::vector<RatePoint> CurveOfSteps(const FamilyEntry& family, uint64_t keys, bool thorough) {
  const auto count = static_cast<double>(keys);
  Curve curve;
  for (int step = 0; step <= kSteps; step++) {
    const double setting = SettingAt(step);
    if (setting < family.min_bits_per_key || setting > family.max_bits_per_key) continue;
    const Budget budget = BudgetFor(family, keys, setting, false, thorough);
    // The rate of small filters hardly differs from that of large ones.
    const double rate = family.rate_of_large == nullptr ? family.expected_rate(keys, budget)
                                                        : RatesOfLarge(family, thorough)[step];
    curve.Add(BlockBits(family, keys, budget) / count, rate, setting);
  }
  return curve.Take();
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

}  // namespace rocksieve
