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

namespace rocksieve {

// The salt of filters that were not asked for a random one: equal keys give equal bytes everywhere.
inline constexpr uint64_t kDefaultSalt = 0;

inline uint64_t HashKey(std::string_view key, uint64_t salt) {
  return XXH3_64bits_withSeed(key.data(), key.size(), salt);
}

}  // namespace rocksieve
