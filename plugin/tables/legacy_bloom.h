// The Bloom filter that RocksDB makes with format_version 4 and earlier.
#pragma once

#include <cstdint>

namespace rocksieve {

// What NewBloomFilterPolicy(bits_per_key) takes for so many keys: whole bits per key, and an odd
// number of lines. Source: LegacyBloomBitsBuilder in table/block_based/filter_policy.cc,
// RocksDB 7.8.
struct LegacyBloom {
  double bytes = 0;
  double rate = 1;
};
LegacyBloom PredictLegacyBloom(uint64_t keys, double bits_per_key);

// The rate of a filter of so many bytes, without the five at its end.
double LegacyBloomRate(double keys, double bytes, int probes);

}  // namespace rocksieve
