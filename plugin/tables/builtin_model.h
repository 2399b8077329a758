// SPDX-License-Identifier: Apache-2.0
// Sizes and false-positive rates of RocksDB's built-in filters.
//
// Source: RocksDB 7.8, util/bloom_impl.h (FastLocalBloomImpl, LegacyLocalityBloomImpl, BloomMath),
// util/ribbon_impl.h (SerializableInterleavedSolution), util/ribbon_config.cc (slots for so many
// keys) and table/block_based/filter_policy.cc (sizes, and the five bytes at the end of each
// block). The headers of a RocksDB installation have none of it.
#pragma once

#include <cstdint>
#include <string_view>

#include <rocksieve/filter_spec.h>

namespace rocksieve {

// At the end of each block: what it is.
inline constexpr size_t kBuiltinTrailerBytes = 5;
inline constexpr int kBuiltinRibbonBlockSlots = 128;
inline constexpr uint64_t kBuiltinBloomLineBytes = 64;

// "RocksDB Bloom"; empty if the family is none of RocksDB's.
std::string_view BuiltinFamilyName(Family family);

// The rate of a Bloom filter of format_version 5 and later: the mean over the number of keys in a
// line.
double RocksDbBloomRate(int probes, double lines, double keys);

// The rate of a Ribbon filter, 2^-columns, whose first `lower` blocks have one column less.
double RocksDbRibbonRate(double columns, double blocks, double lower);

// The bits per key that NewBloomFilterPolicy() takes for this rate.
double BuiltinBloomBitsForRate(double rate);

// The same for NewRibbonFilterPolicy(), which takes the bits of a Bloom filter of equal rate, but
// estimates that rate by a formula of its own.
double BuiltinRibbonBitsForRate(double rate);

// What a filter of so many keys takes and does, made with this argument of the policy. A Ribbon
// policy makes Bloom filters at flushes (unless told otherwise) and of some hundred keys or fewer;
// only the latter is known here.
struct BuiltinFilter {
  double bytes = 0;
  double rate = 0;
};
BuiltinFilter BuiltinBloom(uint64_t keys, double bits_per_key);
BuiltinFilter BuiltinRibbon(uint64_t keys, double bloom_equivalent_bits_per_key);

// The Bloom filter of format_version 4 and earlier: whole bits per key, and an odd number of lines
// (LegacyBloomBitsBuilder).
BuiltinFilter LegacyBloom(uint64_t keys, double bits_per_key);

// The rate of such a filter of so many bytes, without the five at its end.
double LegacyBloomRate(double keys, double bytes, int probes);

// The rate of one line of the Bloom filter of format_version 5 and later, made with this argument
// of the policy, if so many keys lie in it.
double BuiltinBloomLineRate(double bits_per_key, double keys_in_line);

}  // namespace rocksieve
