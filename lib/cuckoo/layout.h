// SPDX-License-Identifier: Apache-2.0
// Where a key stands: the sharded windowed cuckoo filter (SWC).
//
//   payload: u32 shard count | u32 first wide slot | u32 offset x (shards + 1) | slots, bit-packed
//
// Keys are divided by hash into shards of about 4,096 keys. The offsets say at which slot each
// shard begins. A slot holds a fingerprint of F bits, from the first wide slot on of F + 1 bits; 0
// is an empty slot. A key has two windows of two adjacent slots in its shard, at positions that are
// independent hash bits, and lies in one of these four slots. Slots of a shard may belong to
// overlapping windows, which is what lets 96 % of them be filled (Lehman and Panigrahy, "3.5-Way
// Cuckoo Hashing for the Price of 2-and-a-Bit", 2009; thresholds: Walzer, "Load Thresholds for
// Cuckoo Hashing with Overlapping Blocks", 2018).
//
// A shard of one slot, which no window fits into, means "every key of this shard may be present":
// the builder's last resort against sets of keys made to be unplaceable.
#pragma once

#include <cstdint>

#include "lib/format/coding.h"

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

}  // namespace rocksieve::cuckoo
