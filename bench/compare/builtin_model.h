// The false-positive rates of RocksDB's built-in filters.
//
// Source: RocksDB 7.8, util/bloom_impl.h (FastLocalBloomImpl, BloomMath), util/ribbon_impl.h
// (SerializableInterleavedSolution) and table/block_based/filter_policy.cc (the five bytes at the
// end of each block). The headers of a RocksDB installation have none of it.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocksieve::bench {

// The rate that a block of `keys` keys, made by either built-in policy, should have: the mean over
// the number of keys in a line for a Bloom filter; 2^-columns for a Ribbon filter. -1 if the block
// is neither.
double BuiltinRate(std::string_view block, uint64_t keys);

// The bits per key that NewBloomFilterPolicy() takes for this rate.
double BloomBitsForRate(double rate);

// The same for NewRibbonFilterPolicy(), which takes the bits of a Bloom filter of equal rate, but
// estimates that rate by a formula of its own.
double RibbonBitsForRate(double rate);

}  // namespace rocksieve::bench
