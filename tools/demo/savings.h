// What the numbers come to, in one sentence.
#pragma once

#include <string>

#include "tools/demo/result.h"

namespace rocksieve::tools {

// Compares the data block reads and the filter memory of our filters with those of RocksDB's Bloom
// filter, whichever way it turns out. A difference that chance explains (less than 1.96 standard
// deviations of the two counts) is not claimed.
std::string SavingsSentence(const DemoResult& result);

// Of 100 reads that RocksDB's Bloom filter costs, so many are saved; negative if more are needed.
// REQUIRES: both counted lookups, and bloom counted reads.
double SavedReadsPer100(const VariantResult& bloom, const VariantResult& variant);

// Filter bytes per key over those of `bloom`, minus 1. REQUIRES: bloom.filter_bytes > 0.
double ExtraMemory(const VariantResult& bloom, const VariantResult& variant);

}  // namespace rocksieve::tools
