// SPDX-License-Identifier: Apache-2.0
#include "lib/cuckoo/layout.h"

#include <algorithm>
#include <cmath>

namespace rocksieve::cuckoo {
namespace {

double DirectoryBits(const Plan& plan) {
  return 8.0 * static_cast<double>(kPayloadHeadBytes + kOffsetBytes * (plan.shards + 1));
}

void SetWidth(double width, Plan* plan) {
  width = std::clamp(width, double{kMinFingerprintBits}, double{kMaxFingerprintBits});
  plan->fingerprint_bits = std::min(static_cast<int>(width), kMaxFingerprintBits - 1);
  plan->wide_share = width - plan->fingerprint_bits;
}

// The smallest width at which the expected rate is at most `rate`.
double WidthForRate(double rate, Plan plan) {
  double too_narrow = kMinFingerprintBits, enough = kMaxFingerprintBits;
  for (int step = 0; step < 40; step++) {
    const double middle = (too_narrow + enough) / 2;
    SetWidth(middle, &plan);
    const double reached = FalsePositiveRate(plan.fingerprint_bits, plan.wide_share, plan.load);
    (reached <= rate ? enough : too_narrow) = middle;
  }
  return enough;
}

double WidthForBits(uint64_t keys, const Budget& budget, const Plan& plan) {
  const double bits = budget.PayloadBits(keys);
  // That of a single shard is on top: else a thousand keys would pass a third more than a million.
  const double overhead =
      plan.shards == 1 ? 0 : std::min(DirectoryBits(plan), kLargestOverheadShare * bits);
  // Rounding up takes half a slot per shard. A single shard gets that for nothing: a few keys have
  // many slots to spare, and would pay for them with narrow ones.
  const double slots =
      static_cast<double>(keys) / plan.load + static_cast<double>(plan.shards - 1) / 2;
  return (bits - overhead) / slots;
}

double RateOfWidth(int bits, double load) {
  return 1 - std::pow(1 - load * FingerprintMatchRate(bits), 4);
}

}  // namespace

Plan PlanFor(uint64_t keys, const Budget& budget) {
  Plan plan;
  if (budget.thorough) plan.load = kThoroughLoad;
  if (keys == 0) return plan;
  const uint64_t keys_per_shard = budget.thorough ? kThoroughKeysPerShard : kUsualKeysPerShard;
  plan.shards = std::max<uint64_t>(1, (keys + keys_per_shard / 2) / keys_per_shard);
  const double width = budget.is_rate ? budget.factor * WidthForRate(budget.amount, plan)
                                      : WidthForBits(keys, budget, plan);
  // A little below the limit, since shards may have to grow.
  const double widest = 0.99 * 8.0 * kMaxPayloadBytes / ExpectedSlots(keys, plan);
  SetWidth(std::min(width, widest), &plan);
  return plan;
}

uint32_t SlotsForKeys(uint64_t keys, const Plan& plan) {
  if (keys == 0) return 0;
  const double slots = std::ceil(static_cast<double>(keys) / plan.load);
  return std::max<uint32_t>(kWindowSlots, static_cast<uint32_t>(slots));
}

double ExpectedSlots(uint64_t keys, const Plan& plan) {
  // Half a slot per shard for rounding up.
  return std::max<double>(
      kWindowSlots, static_cast<double>(keys) / plan.load + static_cast<double>(plan.shards) / 2);
}

double ExpectedPayloadBits(uint64_t keys, const Plan& plan) {
  if (keys == 0) return 0;
  return DirectoryBits(plan) +
         ExpectedSlots(keys, plan) * (plan.fingerprint_bits + plan.wide_share);
}

double FingerprintMatchRate(int bits) {
  const double values = std::ldexp(1.0, bits);
  return (values + 2) / (values * values);  // 1 with 2 / values, each other one with 1 / values
}

double FalsePositiveRate(int fingerprint_bits, double wide_share, double load) {
  return (1 - wide_share) * RateOfWidth(fingerprint_bits, load) +
         wide_share * RateOfWidth(fingerprint_bits + 1, load);
}

}  // namespace rocksieve::cuckoo
