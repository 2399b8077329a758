// filters-exceed-cache.
#include "support/text.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/checks/caching.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

// Data blocks need room too, and a cache of shards is never filled evenly.
constexpr double kLargestShare = 0.8;

}  // namespace

void CheckCacheSize(const Facts& facts, Findings* findings) {
  for (const CacheUse& cache : CachesWithFilters(facts)) {
    const uint64_t needed = cache.filter_bytes + cache.index_bytes;
    if (static_cast<double>(needed) <= kLargestShare * static_cast<double>(cache.capacity_bytes)) {
      continue;
    }
    std::vector<std::string> evidence = {
        QuoteCapacity(facts, cache),
        "filters in it: " + Thousands(cache.filter_bytes) + " bytes" +
            (cache.index_bytes == 0 ? std::string()
                                    : ", and indexes: " + Thousands(cache.index_bytes) + " bytes")};
    for (const FamilyFacts* family : cache.families) {
      evidence.push_back(
          QuoteTableOption(facts, family->name(), "cache_index_and_filter_blocks") +
          ", partition_filters=" + facts.options.TableValue(family->name(), "partition_filters") +
          " (column family " + family->name() + ")");
    }
    findings->push_back(
        {"filters-exceed-cache", Severity::kWarning,
         cache.families.size() == 1 ? cache.families.front()->name() : "",
         "the block cache is too small for the filters in it", evidence,
         "Filters and data push each other out; a lookup may have to read a filter from disk "
         "before it can save a read.",
         "A larger block cache, smaller filters, or cache_index_and_filter_blocks=false, which "
         "keeps them in memory outside of it. rocksieve whatif shows what smaller ones cost."});
  }
}

}  // namespace rocksieve::tools
