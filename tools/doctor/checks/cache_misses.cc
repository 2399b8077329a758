// filters-thrash.
#include "support/text.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/checks/caching.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

constexpr double kLargestMissShare = 0.1;
// Each block is missed once when it is first used, and again for each file that replaces another.
constexpr uint64_t kMissesPerBlock = 4;
constexpr uint64_t kFewestMisses = 1000;

}  // namespace

void CheckCacheMisses(const Facts& facts, Findings* findings) {
  if (facts.log() == nullptr) return;
  const uint64_t hits = facts.log()->ticker("rocksdb.block.cache.filter.hit");
  const uint64_t misses = facts.log()->ticker("rocksdb.block.cache.filter.miss");
  uint64_t blocks = 0;
  for (const CacheUse& cache : CachesWithFilters(facts)) blocks += cache.filter_blocks;
  const double share = static_cast<double>(misses) / static_cast<double>(hits + misses);
  if (misses < kFewestMisses || misses < kMissesPerBlock * blocks || share < kLargestMissShare) {
    return;
  }
  const std::string where =
      facts.log()->name + ", after line " + std::to_string(facts.log()->tickers_line) + ": ";
  findings->push_back(
      {"filters-thrash",
       Severity::kError,
       "",
       "filters are read from disk over and over",
       {where + "rocksdb.block.cache.filter.miss COUNT : " + std::to_string(misses),
        where + "rocksdb.block.cache.filter.hit COUNT : " + std::to_string(hits) + ", so " +
            Fixed(100 * share, 0) + " % of all accesses to filters miss the cache",
        "blocks of filters in the cache's files: " + Thousands(blocks)},
       "Each such miss costs a disk read, as much as the filter is there to save.",
       "A larger block cache; cache_index_and_filter_blocks=false; or, if filters are large, "
       "partition_filters=true, so that only the part in question is read."});
}

}  // namespace rocksieve::tools
