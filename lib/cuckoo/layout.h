// SPDX-License-Identifier: Apache-2.0
// Where a key stands: the sharded windowed cuckoo filter (SWC). docs/formats/cuckoo.md has every
// byte, docs/design/cuckoo.md says why it works (Lehman and Panigrahy, "3.5-Way Cuckoo Hashing for
// the Price of 2-and-a-Bit", 2009; Walzer, "Load Thresholds for Cuckoo Hashing with Overlapping
// Blocks", 2018).
//
// A shard of one slot, which no window fits into, means "every key of this shard may be present":
// the builder's last resort against sets of keys made to be unplaceable.
#pragma once

#include <cstdint>

#include "lib/format/coding.h"
#include "lib/format/payload.h"

namespace rocksieve::cuckoo {

inline constexpr int kWindowSlots = 2;
inline constexpr int kMinFingerprintBits = 2;
inline constexpr int kMaxFingerprintBits = 61;
inline constexpr uint64_t kPayloadHeadBytes = 8;
inline constexpr uint64_t kOffsetBytes = 4;

inline uint64_t ShardIndex(uint64_t hash, uint64_t shards) { return MultiplyHigh64(hash, shards); }

// The hash bits of a key inside its shard. The shard index consumes upper bits of the hash, so all
// parts are products, in which those bits are mixed with the others.
struct KeyBits {
  uint32_t first_position;
  uint32_t second_position;
  uint64_t fingerprint;  // any number of its low bits may be used
};

inline KeyBits KeyBitsOf(uint64_t hash) {
  const uint64_t a = hash * 0x9FB21C651E98DF25;
  const uint64_t b = (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93;
  return {static_cast<uint32_t>(a >> 32), static_cast<uint32_t>(b >> 32), b};
}

// The first slot of a window, relative to the shard. REQUIRES: shard_slots >= kWindowSlots.
inline uint32_t WindowAt(uint32_t position, uint32_t shard_slots) {
  return static_cast<uint32_t>((uint64_t{position} * (shard_slots - 1)) >> 32);
}

inline uint64_t LowBits(int bits) { return (uint64_t{1} << bits) - 1; }

// The fingerprint as a slot of `bits` bits stores it. 0 stands for an empty slot, so 1 serves
// twice.
inline uint64_t StoredFingerprint(uint64_t fingerprint, int bits) {
  const uint64_t low = fingerprint & LowBits(bits);
  return low + (low == 0 ? 1 : 0);
}

// The bit at which a slot begins. By a mask, since compilers make branches of ?:, and where widths
// are mixed it is a coin toss.
inline uint64_t SlotBit(uint64_t slot, int fingerprint_bits, uint64_t first_wide_slot) {
  const uint64_t is_wide = slot > first_wide_slot;
  return slot * static_cast<uint64_t>(fingerprint_bits) + ((slot - first_wide_slot) & -is_wide);
}

// How many slots a cuckoo filter gets, and how wide they are, under a budget; and the
// false-positive rate of the family as a function.
//
// A missing key is compared with the four slots of its two windows. Each holds a key with
// probability `load`, whose fingerprint equals the asked one with probability about 2^-F. Hence the
// rate of Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom"
// (2014), section 5.1, for four slots, times the load.

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
