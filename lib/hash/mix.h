// SPDX-License-Identifier: Apache-2.0
// Small mixing functions of 64-bit words, the same on every machine. Parts of wire formats.
#pragma once

#include <cstdint>

namespace rocksieve {

// A bijection whose every output bit depends on every input bit.
// Source: D. Stafford, "Better bit mixing", 2011, variant 13, the finalizer of SplitMix64.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Upper and lower half of the 128-bit product, XORed.
// Source: Wang Yi, wyhash; XXH3's mul128_fold64.
inline uint64_t MultiplyFold64(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The index-th number of the SplitMix64 sequence that starts at `seed` (Steele, Lea, Flood, 2014).
constexpr uint64_t SplitMix64(uint64_t seed, uint64_t index) {
  return Mix64(seed + (index + 1) * 0x9e3779b97f4a7c15);
}

}  // namespace rocksieve
