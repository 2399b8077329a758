// The false-positive rates that filters promise: rocksieve's, and RocksDB's own.
#pragma once

#include <cstdint>

#include <rocksieve/filter_spec.h>

namespace rocksieve::tools {

// What is known beforehand of the rate of one file's filter.
struct FileRate {
  double mean = 0;
  // Each filter has a rate of its own, since its keys come to lie at random: the variance of that.
  double variance = 0;
};

// The setting that most installations have.
inline constexpr double kBuiltinBitsPerKey = 10;

// Of RocksDB's filters with that setting, for a file with so many keys and filter bytes. Its Ribbon
// makes Bloom filters after all, which the size shows, in flushed files, and in small ones where
// that takes less. Others have no variance: their fingerprints match at the same rate wherever they
// lie.
FileRate BuiltinBloomRate(uint64_t keys, uint64_t filter_bytes);
FileRate BuiltinRibbonRate(uint64_t keys, uint64_t filter_bytes);

// The rate of the filter that the spec gives a file with so many keys. It has a variance if
// the family's filters consist of lines.
FileRate OurRate(const FilterSpec& spec, uint64_t keys, uint64_t filter_bytes);

}  // namespace rocksieve::tools
