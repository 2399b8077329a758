#include "tools/doctor/checks/caching.h"

#include <algorithm>
#include <map>

namespace rocksieve::tools {

bool CachesFilters(const Facts& facts, const FamilyFacts& family) {
  return facts.options.TableValue(family.name(), "cache_index_and_filter_blocks") == "true";
}

bool IsInCache(const Facts& facts, const FamilyFacts& family, const TreeFile& file) {
  if (!file.filter.exists() || !family.policy.works()) return false;
  return CachesFilters(facts, family) || file.filter.layout == FilterLayout::kPartitioned;
}

std::vector<CacheUse> CachesWithFilters(const Facts& facts) {
  std::map<std::string, CacheUse> by_address;
  for (const FamilyFacts& family : facts.families) {
    const LoggedFamily* const logged = facts.logged(family.name());
    if (logged == nullptr || logged->block_cache_bytes == 0) continue;
    CacheUse& cache = by_address[logged->block_cache];
    cache.address = logged->block_cache;
    cache.capacity_bytes = logged->block_cache_bytes;
    cache.shard_bits = logged->block_cache_shard_bits;
    bool any = false;
    for (const TreeFile* file : family.files()) {
      if (!IsInCache(facts, family, *file)) continue;
      any = true;
      cache.filter_bytes += file->filter.bytes;
      cache.filter_blocks += std::max<uint64_t>(1, file->filter.partitions);
      if (CachesFilters(facts, family)) cache.index_bytes += file->properties.index_bytes;
    }
    if (any) cache.families.push_back(&family);
  }
  std::vector<CacheUse> caches;
  for (auto& [address, cache] : by_address) {
    if (!cache.families.empty()) caches.push_back(std::move(cache));
  }
  return caches;
}

std::string QuoteCapacity(const Facts& facts, const CacheUse& cache) {
  return facts.log()->name + ": block_cache: " + cache.address +
         ", capacity : " + std::to_string(cache.capacity_bytes);
}

}  // namespace rocksieve::tools
