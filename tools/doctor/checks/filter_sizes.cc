// huge-filters.
#include "support/text.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/checks/caching.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

constexpr uint64_t kHugeInCacheBytes = 4 << 20;
constexpr uint64_t kHugeInMemoryBytes = 16 << 20;  // read once, when the file is opened

}  // namespace

void CheckFilterSizes(const Facts& facts, Findings* findings) {
  const std::vector<CacheUse> caches = CachesWithFilters(facts);
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.works()) continue;
    const CacheUse* cache = nullptr;
    for (const CacheUse& candidate : caches) {
      for (const FamilyFacts* user : candidate.families) {
        if (user == &family) cache = &candidate;
      }
    }
    Files huge;
    uint64_t largest = 0;
    for (const TreeFile* file : family.files()) {
      if (file->filter.layout != FilterLayout::kFull) continue;
      const bool cached = IsInCache(facts, family, *file);
      const bool does_not_fit =
          cached && cache != nullptr && file->filter.bytes > cache->shard_bytes();
      if (!does_not_fit && file->filter.bytes < (cached ? kHugeInCacheBytes : kHugeInMemoryBytes)) {
        continue;
      }
      huge.push_back(file);
      largest = std::max(largest, file->filter.bytes);
    }
    if (huge.empty()) continue;
    std::vector<std::string> evidence = {
        "the largest filter has " + Thousands(largest) + " bytes; such are in " +
            QuoteFiles(huge, family),
        QuoteTableOption(facts, family.name(), "partition_filters"),
        QuoteTableOption(facts, family.name(), "cache_index_and_filter_blocks")};
    const bool does_not_fit = cache != nullptr && largest > cache->shard_bytes();
    if (does_not_fit) {
      evidence.push_back(QuoteCapacity(facts, *cache) + ", in " +
                         std::to_string(1 << cache->shard_bits) + " shards of " +
                         Thousands(cache->shard_bytes()) + " bytes");
    }
    findings->push_back(
        {"huge-filters", does_not_fit ? Severity::kError : Severity::kWarning, family.name(),
         does_not_fit ? "there are filters that do not fit into a shard of the block cache"
                      : "there are huge filters in one piece",
         evidence,
         does_not_fit
             ? "Every lookup that needs one reads it from disk."
             : "Each is read, and held, as a whole, however few of its keys are asked for.",
         "partition_filters=true with index_type=kTwoLevelIndexSearch, then compact everything; or "
         "smaller files (target_file_size_base)."});
  }
}

}  // namespace rocksieve::tools
