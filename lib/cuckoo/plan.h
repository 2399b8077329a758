// SPDX-License-Identifier: Apache-2.0
// How many slots a cuckoo filter gets, and how wide they are, under a budget; and the
// false-positive rate of the family as a function.
//
// A missing key is compared with the four slots of its two windows. Each holds a key with
// probability `load`, whose fingerprint equals the asked one with probability about 2^-F. Hence the
// rate of Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom"
// (2014), section 5.1, for four slots, times the load.
#pragma once

#include <cstdint>

#include "lib/format/payload.h"

namespace rocksieve::cuckoo {

inline constexpr double kMinBitsPerKey = 2.5;
inline constexpr double kMaxBitsPerKey = 64;

// In the limit of large shards, keys can be placed below this load and cannot above it: k = 2
// windows of l = 2 slots (Walzer, "Load Thresholds for Cuckoo Hashing with Overlapping Blocks",
// 2018, abstract).
inline constexpr double kLoadThreshold = 0.964995;

// Share of slots that hold a key, a little below that: 8 of 10 shards of 4,096
// keys can be filled so far at the first attempt, and shards of 8,192 somewhat farther. Larger ones
// would come closer still, but leave the L1 cache while they are built, and take more pages than
// one when they are queried.
inline constexpr double kUsualLoad = 0.962, kThoroughLoad = 0.963;
inline constexpr uint64_t kUsualKeysPerShard = 4096, kThoroughKeysPerShard = 8192;

struct Plan {
  uint64_t shards = 0;
  double load = kUsualLoad;
  int fingerprint_bits = 0;  // of narrow slots; wide ones have one more
  double wide_share = 0;     // of the slots, 0 to 1
};

// The number of slots follows from the number of keys; the budget is spent on their width.
Plan PlanFor(uint64_t keys, const Budget& budget);

// The slots of a shard, before it has to grow.
uint32_t SlotsForKeys(uint64_t keys_of_shard, const Plan& plan);

// Expected slots of all shards.
double ExpectedSlots(uint64_t keys, const Plan& plan);

// Expected payload, its directory included.
double ExpectedPayloadBits(uint64_t keys, const Plan& plan);

// Probability that two keys are given the same stored fingerprint: the value 1 serves twice, since
// 0 is the empty slot.
double FingerprintMatchRate(int bits);

// wide_share of the slots have one bit more. REQUIRES: 0 <= wide_share <= 1, 0 <= load <= 1.
double FalsePositiveRate(int fingerprint_bits, double wide_share, double load);

}  // namespace rocksieve::cuckoo
