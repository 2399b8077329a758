// What the kinds of Bloom filters have in common about their options.
#pragma once

#include <string>

#include <rocksieve/dynamic/bloom_filter.h>

#include "lib/format/byte_io.h"

namespace rocksieve::bloom {

constexpr uint64_t WordsFor(uint64_t bits) { return (bits + 63) / 64; }

// The options, rounded for their layout. Throws std::invalid_argument, in whose text the options
// are called `owner`, and the number of positions `positions_field`.
BloomFilterOptions Checked(const BloomFilterOptions& options, const char* owner,
                           const char* positions_field);

// Empty, or what Checked() would say; for bytes also if they would have been rounded.
std::string WhatIsWrong(const BloomFilterOptions& options, const char* owner,
                        const char* positions_field);

//   bits       u64
//   hashes     u8
//   hashing    u8, BloomHashing
//   seed       u64
void WriteOptions(const BloomFilterOptions& options, ByteWriter* out);

// Fails, if no filter can have these options. The layout is not stored here.
BloomFilterOptions ReadOptions(ByteReader* in, BloomLayout layout);

}  // namespace rocksieve::bloom
