// Which filters live in the block cache, and in which one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/doctor/facts.h"

namespace rocksieve::tools {

// cache_index_and_filter_blocks; else filters stay in memory for as long as their file is open.
bool CachesFilters(const Facts& facts, const FamilyFacts& family);

// Partitions of a filter always go through the block cache.
bool IsInCache(const Facts& facts, const FamilyFacts& family, const TreeFile& file);

struct CacheUse {
  std::string address;  // as the log has it
  uint64_t capacity_bytes = 0;
  int shard_bits = 0;
  std::vector<const FamilyFacts*> families;  // whose filters are in it
  uint64_t filter_bytes = 0;
  uint64_t index_bytes = 0;  // of indexes that are in it too
  uint64_t filter_blocks = 0;

  uint64_t shard_bytes() const { return capacity_bytes >> shard_bits; }
};

// The block caches with filters in them whose size the log tells.
std::vector<CacheUse> CachesWithFilters(const Facts& facts);

// "LOG: block_cache capacity : 8388608"
std::string QuoteCapacity(const Facts& facts, const CacheUse& cache);

}  // namespace rocksieve::tools
