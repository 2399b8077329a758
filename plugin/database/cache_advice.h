// SPDX-License-Identifier: Apache-2.0
// The trees of a database as their blocks go through a block cache, and what to advise where that
// is too small for the filters. The model is lib/budget/cache_reads.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/budget/auto_spec.h"
#include "lib/budget/cache_reads.h"
#include "plugin/database/column_family.h"
#include "plugin/database/tree.h"

namespace rocksieve {

// cache_index_and_filter_blocks. Else whole filters and indexes stay in memory for as long as their
// file is open; their partitions are in the cache whatever it says.
bool CachesFilters(const OptionsFile& options, const std::string& column_family);

// How indexes and filters are cut and cached, by the options of the column family.
CacheLayout CacheLayoutOf(const OptionsFile& options, const std::string& column_family);

// `filter_keys`: that a filter of the file holds, or would.
UnfilteredFile UnfilteredFileOf(const TreeFile& file, uint64_t filter_keys);

// Budgets of bytes, and a cache that is set to suit them.
struct CacheAdvice {
  std::vector<AutoSpec> specs;  // "rocksieve.auto:6500kB", one for each tree
  double bytes = 0;             // of all filters; the specs are rounded
  CacheReads reads;             // then, per lookup of an absent key
  // What else to set, each with a comma before it: ", pin_top_level_index_and_filter=false".
  std::string settings;
};

// `trees`: of all column families that use the cache. By a model that knows lookups of absent keys
// alone. Cost: some 0.1 ms per file.
CacheAdvice AdviseFor(const BlockCache& cache, std::vector<CachedTree> trees);

}  // namespace rocksieve
