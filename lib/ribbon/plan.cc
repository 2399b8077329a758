// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/plan.h"

#include <algorithm>
#include <cmath>

namespace rocksieve::ribbon {
namespace {

// Two widths make a query a nanosecond slower: not worth it for a few narrow groups.
double WithoutFewNarrowGroups(double width) {
  constexpr double kFew = 0.03;
  return std::ceil(width) - width < kFew ? std::ceil(width) : width;
}

bool IsSmall(uint64_t keys) { return keys <= kMaxSmallKeys; }

uint64_t HeadBytes(uint64_t keys, bool compact) {
  if (IsSmall(keys)) return kSmallHeadBytes;
  const uint64_t buckets = BucketsFor(keys);
  return compact ? kCompactHeadBytes + kCompactWideBytes + buckets + 1
                 : kPayloadHeadBytes + DirectoryBytes(buckets);
}

double OverheadBits(uint64_t keys, bool compact) {
  return 8.0 * static_cast<double>(HeadBytes(keys, compact));
}

}  // namespace

Plan PlanFor(uint64_t keys, const Budget& budget) {
  Plan plan;
  plan.thorough = budget.thorough;
  plan.compact = budget.compact;
  if (keys == 0) return plan;
  // A little below the limit, since the number of slots is not known exactly.
  const double most_bits = 0.99 * 8.0 * static_cast<double>(kMaxPayloadBytes);
  if (!budget.is_rate) {
    const double bits = budget.PayloadBits(keys);
    plan.slot_bits = std::min(
        bits - std::min(OverheadBits(keys, plan.compact), kLargestOverheadShare * bits), most_bits);
    return plan;
  }
  const double width = WithoutFewNarrowGroups(WidthForRate(budget.amount));
  const double bits = budget.factor * width * ExpectedSlots(keys);
  // A factor asks for an amount of memory, so that is what is promised then.
  if (budget.factor != 1 || bits > most_bits) {
    plan.slot_bits = std::min(bits, most_bits);
  } else {
    plan.width = width;
  }
  return plan;
}

Width WidthFor(const Plan& plan, uint64_t slots) {
  const double wanted = plan.width != 0 ? plan.width : plan.slot_bits / static_cast<double>(slots);
  const double width = std::clamp(wanted, double{kMinColumns}, double{kMaxColumns});
  const int columns = static_cast<int>(width);
  return {columns, width - columns};
}

int SmallColumnsFor(const Plan& plan, uint64_t slots) {
  const Width width = WidthFor(plan, slots);
  // A rate is a promise, bits per key are a budget.
  const bool wide = plan.width != 0 ? width.wide_share > 0 : width.wide_share >= 0.5;
  return width.columns + (wide ? 1 : 0);
}

uint64_t BucketsFor(uint64_t distinct_keys) {
  const auto keys = static_cast<double>(distinct_keys);
  return static_cast<uint64_t>(std::max(keys / 256, std::sqrt(keys) / 5) + 0.5);
}

double ExpectedSlots(uint64_t keys) {
  if (IsSmall(keys)) return static_cast<double>(keys);
  // As built: slots that stay empty in all buckets, and those to spare in the last.
  const auto count = static_cast<double>(keys);
  return 1.0012 * count + 4 + std::min(std::sqrt(count) / 10, 9.0);
}

double ExpectedPayloadBits(uint64_t keys, const Plan& plan) {
  if (keys == 0) return 0;
  const double slots = ExpectedSlots(keys);
  if (IsSmall(keys)) {
    return OverheadBits(keys, plan.compact) +
           8 * std::ceil(slots * SmallColumnsFor(plan, keys) / 8);
  }
  const Width width = WidthFor(plan, static_cast<uint64_t>(slots));
  return OverheadBits(keys, plan.compact) + slots * (width.columns + width.wide_share);
}

double ExpectedRate(uint64_t keys, const Plan& plan) {
  if (IsSmall(keys)) return FalsePositiveRate(SmallColumnsFor(plan, keys), 0);
  const Width width = WidthFor(plan, static_cast<uint64_t>(ExpectedSlots(keys)));
  return FalsePositiveRate(width.columns, width.wide_share);
}

double FalsePositiveRate(int columns, double wide_share) {
  return std::ldexp(1 - wide_share / 2, -columns);
}

double WidthForRate(double rate) {
  // The inverse of the above: rate * 2^columns = 1 - share / 2 lies between 1/2 and 1.
  const double columns = std::floor(-std::log2(rate));
  return columns + 2 * (1 - std::ldexp(rate, static_cast<int>(columns)));
}

}  // namespace rocksieve::ribbon
