#include "cuckoo/plan.h"

#include <algorithm>
#include <cmath>

#include "cuckoo/layout.h"
#include "cuckoo/model.h"

namespace rocksieve::cuckoo {
namespace {

uint64_t ShardsFor(uint64_t keys) {
  return std::max<uint64_t>(1, (keys + kKeysPerShard / 2) / kKeysPerShard);
}

double DirectoryBits(uint64_t shards) {
  return 8.0 * static_cast<double>(kPayloadHeadBytes + kOffsetBytes * (shards + 1));
}

}  // namespace

double ExpectedSlots(uint64_t keys, uint64_t shards) {
  // Half a slot per shard for rounding up.
  return std::max<double>(kWindowSlots, static_cast<double>(keys) / kLoad +
                                            static_cast<double>(shards) / 2);
}

Plan PlanFor(uint64_t keys, double payload_bits) {
  Plan plan;
  if (keys == 0) return plan;
  plan.shards = ShardsFor(keys);
  const double width =
      std::clamp((payload_bits - DirectoryBits(plan.shards)) / ExpectedSlots(keys, plan.shards),
                 double{kMinFingerprintBits}, double{kMaxFingerprintBits});
  plan.fingerprint_bits = std::min(static_cast<int>(width), kMaxFingerprintBits - 1);
  plan.wide_share = width - plan.fingerprint_bits;
  return plan;
}

double ExpectedPayloadBits(uint64_t keys, const Plan& plan) {
  if (keys == 0) return 0;
  return DirectoryBits(plan.shards) +
         ExpectedSlots(keys, plan.shards) * (plan.fingerprint_bits + plan.wide_share);
}

double PayloadBitsForRate(uint64_t keys, double rate) {
  if (keys == 0) return 0;
  Plan plan = PlanFor(keys, 0);
  auto rate_at = [&plan](double width) {
    plan.fingerprint_bits = std::min(static_cast<int>(width), kMaxFingerprintBits - 1);
    plan.wide_share = width - plan.fingerprint_bits;
    return FalsePositiveRate(plan.fingerprint_bits, plan.wide_share, kLoad);
  };
  double too_narrow = kMinFingerprintBits, enough = kMaxFingerprintBits;
  for (int step = 0; step < 40; step++) {
    const double middle = (too_narrow + enough) / 2;
    (rate_at(middle) <= rate ? enough : too_narrow) = middle;
  }
  rate_at(enough);
  return ExpectedPayloadBits(keys, plan);
}

}  // namespace rocksieve::cuckoo
