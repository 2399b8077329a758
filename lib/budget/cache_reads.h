// SPDX-License-Identifier: Apache-2.0
// What lookups of absent keys read where filters, indexes and data blocks share a block cache that
// is too small for all of them, and the budget of bytes for filters with which they read least.
//
// Too few bits cost reads of data blocks and indexes, too many push filters out of the cache. A
// cache that throws out what was not asked for the longest keeps a block for about the same time,
// whichever it is: a block that is asked for at each lookup with probability l is missed there with
// probability exp(-l T), where T, in lookups, is such that all that is kept fills the cache (Che,
// Tung, Wang: Hierarchical web caching systems, 2002). Blocks of filters and indexes are kept
// before those of data in the share of the cache that is theirs (high_pri_pool_ratio of RocksDB's
// LRUCache); a block of data that only a false positive asked for is not asked for again.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/budget/allocation.h"

namespace rocksieve {

struct BlockCache {
  double bytes = 0;
  // The share that is kept for blocks of filters and indexes.
  double high_pri_pool_ratio = 0.5;
  // It has 2^shard_bits parts, each with its share of the bytes, and of the blocks by chance.
  int shard_bits = 0;
};

// The shard_bits of a cache of so many bytes whose maker named none: 512 KiB or more for each
// shard, and at most 64 of them (GetDefaultCacheShardBits() in cache/sharded_cache.cc,
// RocksDB 7.8).
int UsualShardBits(uint64_t cache_bytes);

// What of a file goes through the cache. Sizes in bytes.
struct CachedFile {
  double lookup_weight = 0;  // the probability that a lookup comes to it
  double rate = 1;           // at which they pass its filter
  double filter_bytes = 0;   // 0: it has none, or not in the cache
  double filter_blocks = 1;  // more than 1: in partitions
  double index_bytes = 0;    // 0: not in the cache
  double index_blocks = 1;   // more than 1: in partitions
  // Of the indexes of partitions: each is a block of its own. 0: there is none.
  double filter_top_bytes = 0, index_top_bytes = 0;
  bool top_levels_pinned = true;  // they never leave the cache
  double data_block_bytes = 4096;
};

// Per lookup of an absent key.
struct CacheReads {
  double filters = 0, indexes = 0, data = 0;  // blocks
  double bytes = 0;
};

// Cost: some 2 us per file.
CacheReads ReadsThrough(const BlockCache& cache, const std::vector<CachedFile>& files);

// How a file's index and filter are cut, both being in the cache.
struct CacheLayout {
  bool indexes_cached = true;
  bool filters_partitioned = false, indexes_partitioned = false;
  double partition_bytes = 4096;  // metadata_block_size
  bool top_levels_pinned = true;  // pin_top_level_index_and_filter

  // Sets all but sizes and probabilities. `filter_blocks`: how many partitions the filter's size
  // alone would give it.
  void Cut(double filter_blocks, CachedFile* file) const;
};

// A file whose filter is still to be chosen; it is to have none if it is not `budgeted`.
struct UnfilteredFile {
  BudgetedFile file;
  double index_bytes = 0;
  double data_block_bytes = 4096;  // that a lookup reads which the filter lets pass
  // The probability that a lookup comes to it; negative: as LookupWeights() has it.
  double lookup_weight = -1;
  // The share of those lookups that no filter can spare: it is asked for a prefix, and has it.
  double passed_anyway = 0;

  double PassRate(double filter_rate) const {
    return passed_anyway + (1 - passed_anyway) * filter_rate;
  }
};

// The filter of a file.
struct CachedFilter {
  double bytes = 0;  // in the cache; 0: it has none, or it is elsewhere
  double blocks = 1;
  double rate = 1;
};

// A column family whose blocks go through the cache.
struct CachedTree {
  std::vector<UnfilteredFile> files;
  CacheLayout layout;
  double lookup_share = 1;  // of all lookups
  double budget_share = 1;  // of all bytes of filters
};

// The tree's files with these filters, one for each.
std::vector<CachedFile> WithFilters(const CachedTree& tree,
                                    const std::vector<CachedFilter>& filters);

// The tree's files with the filters that are best within so many bytes, by the allocator's
// families; as a policy with such a budget of bytes, it gives no more than is of use.
std::vector<CachedFile> WithFilters(const Allocator& allocator, const CachedTree& tree,
                                    double budget_bytes);

struct CacheBudget {
  double bytes = 0;  // of all filters together
  CacheReads reads;
};

// The budget with which lookups of absent keys read least, though filters may take 3 % more for a
// while; of equals the least. Cost: some 0.1 ms per file.
CacheBudget BestBudget(const Allocator& allocator, const std::vector<CachedTree>& trees,
                       const BlockCache& cache);

}  // namespace rocksieve
