// How many slots a cuckoo filter gets, and how wide they are, under a budget.
#pragma once

#include <cstdint>

namespace rocksieve::cuckoo {

inline constexpr double kMinBitsPerKey = 2.5;
inline constexpr double kMaxBitsPerKey = 64;

// Share of slots that hold a key. The threshold for two windows of two slots is 0.965 (Walzer 2018);
// a shard of 2,048 keys almost always succeeds a little below it.
inline constexpr double kLoad = 0.955;
inline constexpr uint64_t kKeysPerShard = 2048;

struct Plan {
  uint64_t shards = 0;
  int fingerprint_bits = 0;  // of narrow slots; wide ones have one more
  // The share of slots that are wide, 0 to 1.
  double wide_share = 0;
};

// Spends the budget on the width of the slots: their number follows from the number of keys.
Plan PlanFor(uint64_t keys, double payload_bits);

// Expected slots of a filter: shards have few more than their keys' number over kLoad.
double ExpectedSlots(uint64_t keys, uint64_t shards);

// Expected payload, its directory included.
double ExpectedPayloadBits(uint64_t keys, const Plan& plan);

// The smallest payload at which the expected rate is at most `rate` (0 to 1).
double PayloadBitsForRate(uint64_t keys, double rate);

}  // namespace rocksieve::cuckoo
