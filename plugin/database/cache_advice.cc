// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/cache_advice.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "support/text.h"

namespace rocksieve {
namespace {

// What suits a cache of filters and indexes: data makes room for them, and the indexes of their
// partitions for what is asked for more often.
constexpr double kBestPoolRatio = 1;

// Three digits, so that little of a tight cache is lost.
uint64_t RoundedDown(double bytes) {
  uint64_t step = 1;
  while (bytes >= 1000 * static_cast<double>(step)) step *= 10;
  return static_cast<uint64_t>(bytes) / step * step;
}

std::string SettingsFor(const BlockCache& cache, const std::vector<CachedTree>& trees) {
  std::string settings = ", with listeners={rocksieve.listener}";
  if (cache.high_pri_pool_ratio < kBestPoolRatio) {
    settings += ", a block cache with high_pri_pool_ratio=1 instead of " +
                Fixed(cache.high_pri_pool_ratio, 2);
  }
  if (std::any_of(trees.begin(), trees.end(), [](const CachedTree& tree) {
        return tree.layout.indexes_partitioned && tree.layout.top_levels_pinned;
      })) {
    settings += ", pin_top_level_index_and_filter=false";
  }
  return settings;
}

}  // namespace

bool CachesFilters(const OptionsFile& options, const std::string& column_family) {
  return options.TableValue(column_family, "cache_index_and_filter_blocks") == "true";
}

CacheLayout CacheLayoutOf(const OptionsFile& options, const std::string& column_family) {
  const auto value = [&](const char* option) { return options.TableValue(column_family, option); };
  CacheLayout layout;
  layout.indexes_partitioned = value("index_type") == "kTwoLevelIndexSearch";
  layout.filters_partitioned = layout.indexes_partitioned && value("partition_filters") == "true";
  layout.indexes_cached = layout.indexes_partitioned || CachesFilters(options, column_family);
  const double partition_bytes = std::atof(value("metadata_block_size").c_str());
  if (partition_bytes >= 1) layout.partition_bytes = partition_bytes;
  layout.top_levels_pinned = value("pin_top_level_index_and_filter") != "false";
  return layout;
}

UnfilteredFile UnfilteredFileOf(const TreeFile& file, uint64_t filter_keys) {
  const TableProperties& properties = file.properties;
  UnfilteredFile unfiltered;
  unfiltered.file = {file.smallest, file.largest, properties.entries, filter_keys};
  unfiltered.index_bytes = static_cast<double>(properties.index_bytes);
  if (properties.data_blocks > 0) {
    unfiltered.data_block_bytes =
        static_cast<double>(properties.data_bytes) / static_cast<double>(properties.data_blocks);
  }
  return unfiltered;
}

CacheAdvice AdviseFor(const BlockCache& cache, std::vector<CachedTree> trees) {
  CacheAdvice advice;
  advice.settings = SettingsFor(cache, trees);
  BlockCache suiting = cache;
  suiting.high_pri_pool_ratio = std::max(cache.high_pri_pool_ratio, kBestPoolRatio);
  for (CachedTree& tree : trees) tree.layout.top_levels_pinned = false;
  const CacheBudget best = BestBudget(Allocator(AutoSpec().ForAllocator()), trees, suiting);
  advice.bytes = best.bytes;
  advice.reads = best.reads;
  for (const CachedTree& tree : trees) {
    AutoSpec spec;
    spec.bytes = std::max(AutoSpec::kMinBytes, RoundedDown(tree.budget_share * best.bytes));
    advice.specs.push_back(std::move(spec));
  }
  return advice;
}

}  // namespace rocksieve
