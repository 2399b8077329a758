// SPDX-License-Identifier: Apache-2.0
// The one key hash: XXH3-64 seeded with the filter's salt. It is part of the block format.
//
// Source: the xxHash specification 0.1.1 and libxxhash >= 0.8.0, where XXH3 is stable. The same
// value on every machine, whatever its byte order. Cost: 2-3 ns for keys up to 32 bytes.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <string_view>

#include "lib/hash/mix.h"

namespace rocksieve {

// The salt of filters that were not asked for a random one: equal keys give equal bytes everywhere.
inline constexpr uint64_t kDefaultSalt = 0;

inline uint64_t HashKey(std::string_view key, uint64_t salt) {
  return XXH3_64bits_withSeed(key.data(), key.size(), salt);
}

// HashKey() for many keys of one salt: what depends on the salt alone is computed once.
//
// Queries are short enough for that to be felt. Keys of 9 to 16 bytes are hashed here, by one
// multiplication; of other lengths, by HashKey().
class KeyHasher {
 public:
  explicit KeyHasher(uint64_t salt)
      : first_mask_(kFirstSecret + salt), last_mask_(kLastSecret - salt) {}

  // Whether a key of so many bytes is hashed by HashShort().
  static bool IsShort(size_t bytes) { return bytes - kLeastBytes <= kMostBytes - kLeastBytes; }

  // HashKey(key, salt). REQUIRES: IsShort(key.size())
  uint64_t HashShort(std::string_view key) const {
    const uint64_t first = Load(key.data()) ^ first_mask_;
    const uint64_t last = Load(key.data() + key.size() - sizeof(uint64_t)) ^ last_mask_;
    uint64_t hash = key.size() + __builtin_bswap64(first) + last + MultiplyFold64(first, last);
    hash = (hash ^ (hash >> 37)) * factor_;
    return hash ^ (hash >> 32);
  }

 private:
  static constexpr size_t kLeastBytes = 9, kMostBytes = 16;

  // Source: the xxHash specification 0.1.1, XXH3-64 of 9 to 16 bytes. The words of its default
  // secret from byte 24 on and from 32 on, XORed; from 40 and from 48 on; and PRIME_MX1.
  static constexpr uint64_t kFirstSecret = 0x6782737BEA4239B9, kLastSecret = 0xAF56BC3B0996523A;
  static constexpr uint64_t kFactor = 0x165667919E3779F9;

  static uint64_t Load(const char* from) { return XXH_readLE64(from); }

  uint64_t first_mask_, last_mask_;
  // A member, since a load costs a query less than ten bytes of code.
  uint64_t factor_ = kFactor;
};

}  // namespace rocksieve
