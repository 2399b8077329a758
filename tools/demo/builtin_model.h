// The false-positive rates that RocksDB promises for its built-in filters.
//
// Source: RocksDB 7.8, util/bloom_impl.h, BloomMath::StandardFpRate(),
// BloomMath::CacheLocalFpRate() and FastLocalBloomImpl::ChooseNumProbes();
// table/block_based/filter_policy.cc, FastLocalBloomBitsBuilder::CalculateSpace() for the sizes,
// and BloomLikeFilterPolicy's constructor for the rate that a Ribbon filter is built for. The
// headers of a RocksDB installation do not have them.
#pragma once

#include <cstdint>

#include "tools/demo/file_rate.h"

namespace rocksieve::tools {

// The setting that most installations have, and the only one that this file knows.
inline constexpr double kBuiltinBitsPerKey = 10;

// The rate of the Bloom filter of a file: a line of 512 bits takes all probes of a key, and the
// number of keys in a line varies; the rate is the mean of those of a crowded line and of an
// uncrowded one, one standard deviation off. `filter_bytes` is the filter's size in the file, more
// bits per key than asked for where rounding up to whole lines tells. 0 for no keys.
FileRate BuiltinBloomRate(uint64_t keys, uint64_t filter_bytes);

// The same for a file of NewRibbonFilterPolicy(): the rate of a Bloom filter of exactly
// kBuiltinBitsPerKey, except where it used a Bloom filter after all, which the size shows: in
// flushed files, and in small ones where it takes less. Other Ribbon filters have no variance:
// their fingerprints match at the same rate wherever they lie.
FileRate BuiltinRibbonRate(uint64_t keys, uint64_t filter_bytes);

}  // namespace rocksieve::tools
