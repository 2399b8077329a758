// Keys and filters for the tests of Bloom filters.
#pragma once

#include <cstdint>

#include <rocksieve/dynamic/bloom_filter.h>

#include "lib/hash/mix.h"

namespace rocksieve {

// Uniform hashes, no two alike, the same in every run.
inline uint64_t TestHash(uint64_t number) { return SplitMix64(1970, number); }

inline BloomFilter FilterOf(const BloomFilterOptions& options, uint64_t begin, uint64_t end) {
  BloomFilter filter(options);
  for (uint64_t i = begin; i < end; i++) filter.AddHash(TestHash(i));
  return filter;
}

}  // namespace rocksieve
