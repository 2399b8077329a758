#include "lib/budget/rate_curve.h"

#include <algorithm>
#include <cmath>

#include "lib/bloom/model.h"
#include "lib/bloom/plan.h"
#include "lib/budget/builtin_model.h"
#include "lib/filter/family.h"
#include "lib/format/block.h"

namespace rocksieve {
namespace {

constexpr double kFewestBits = 1, kStep = 0.25;
constexpr int kSteps = static_cast<int>((kMostCurveBits - kFewestBits) / kStep);

double SettingAt(int step) { return kFewestBits + kStep * step; }

// The two keys of the range that a block stores; of such a length, usually.
constexpr double kRangeKeysBytes = 32;

constexpr double kBuiltinTrailerBytes = 5;

Budget BudgetFor(double amount, bool is_rate, bool thorough) {
  Budget budget;
  budget.is_rate = is_rate;
  budget.amount = amount;
  budget.frame_bits = 8.0 * static_cast<double>(FrameBytesWithoutRange(/*salted=*/false));
  budget.thorough = thorough;
  return budget;
}

double BlockBits(const FamilyEntry& family, uint64_t keys, const Budget& budget) {
  return family.expected_payload_bits(keys, budget) + budget.frame_bits + 8 * kRangeKeysBytes;
}

std::vector<double> BloomRates(bool thorough) {
  std::vector<double> rates;
  for (int step = 0; step <= kSteps; step++) {
    const double bits = SettingAt(step);
    rates.push_back(bloom::FalsePositiveRateOfManyLines(bloom::ProbesFor(bits), thorough,
                                                        8.0 * bloom::kLineBytes / bits));
  }
  return rates;
}

// The rate of large filters: that of small ones, of a few lines, hardly differs, and takes a
// millisecond to compute.
double BloomRate(int step, bool thorough) {
  // Never destroyed: background threads may build filters while the process exits.
  if (thorough) {
    static const auto& of_thorough_builds = *new std::vector<double>(BloomRates(true));
    return of_thorough_builds[step];
  }
  static const auto& of_usual_builds = *new std::vector<double>(BloomRates(false));
  return of_usual_builds[step];
}

std::vector<RatePoint> OurCurve(FilterKind kind, uint64_t keys, bool thorough) {
  const FamilyEntry& family = *FindFamily(FamilyOf(kind));
  const auto count = static_cast<double>(keys);
  std::vector<RatePoint> curve;
  const auto add = [&](double bits_per_key, double rate, double setting) {
    if (setting > kMostCurveBits) return;
    if (!curve.empty() && bits_per_key <= curve.back().bits_per_key) curve.pop_back();
    curve.push_back({bits_per_key, rate, setting});
  };
  if (kind == FilterKind::kRibbon) {
    for (int columns = 1; columns <= family.max_bits_per_key - 2; columns++) {
      const double rate = std::ldexp(1, -columns);
      const double bits = BlockBits(family, keys, BudgetFor(rate, true, thorough)) / count;
      const double setting = bits - FixedBits(kind) / count;
      add(bits, rate, std::min(setting, family.max_bits_per_key));
    }
    return curve;
  }
  for (int step = 0; step <= kSteps; step++) {
    const double setting = SettingAt(step);
    if (setting < family.min_bits_per_key) continue;
    const Budget budget = BudgetFor(setting, false, thorough);
    const double rate =
        kind == FilterKind::kBloom ? BloomRate(step, thorough) : family.expected_rate(keys, budget);
    add(BlockBits(family, keys, budget) / count, rate, setting);
  }
  return curve;
}

std::vector<RatePoint> BuiltinCurve(FilterKind kind, uint64_t keys) {
  std::vector<RatePoint> curve;
  for (int step = 0; step <= kSteps; step++) {
    const double setting = SettingAt(step);
    const BuiltinFilter filter = kind == FilterKind::kBuiltinBloom ? BuiltinBloom(keys, setting)
                                                                   : BuiltinRibbon(keys, setting);
    const double bits = 8 * filter.bytes / static_cast<double>(keys);
    if (!curve.empty() && bits <= curve.back().bits_per_key) curve.pop_back();
    curve.push_back({bits, filter.rate, setting});
  }
  return curve;
}

}  // namespace

double FixedBits(FilterKind kind) {
  if (kind == FilterKind::kNone) return 0;
  if (!IsOurs(kind)) return 8 * kBuiltinTrailerBytes;
  return BudgetFor(1, false, false).frame_bits + 8 * kRangeKeysBytes;
}

std::vector<RatePoint> RateCurve(FilterKind kind, uint64_t keys, bool thorough) {
  if (kind == FilterKind::kNone || keys == 0) return {RatePoint()};
  return IsOurs(kind) ? OurCurve(kind, keys, thorough) : BuiltinCurve(kind, keys);
}

}  // namespace rocksieve
