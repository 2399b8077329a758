// SPDX-License-Identifier: Apache-2.0
// Do filters stay in memory, and is what they take worth it?
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/budget/auto_spec.h"
#include "lib/budget/cache_reads.h"
#include "plugin/database/tree.h"
#include "support/text.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {
namespace {

constexpr double kLargestMissShare = 0.1;
// Each block is missed once when it is first used, and again for each file that replaces another.
constexpr uint64_t kMissesPerBlock = 4;
constexpr uint64_t kFewestMisses = 1000;

// What RocksDB keeps for other files (DBImpl, kNumNonTableCacheFiles).
constexpr uint64_t kOtherFiles = 10;

constexpr uint64_t kHugeInCacheBytes = 4 << 20;
constexpr uint64_t kHugeInMemoryBytes = 16 << 20;  // read once, when the file is opened

// A filter of fewer keys is mostly rounding: RocksDB's Bloom filters come in steps of 64 bytes, and
// every filter has some bytes that say what it is.
constexpr uint64_t kTinyKeys = 128;
constexpr uint64_t kTinyFileBytes = 4 << 20;  // what is larger has large values
constexpr size_t kManyTinyFiles = 100;

constexpr double kWastedShare = 0.08;
constexpr uint64_t kWastedBytes = 8 << 20;

// jemalloc has four sizes per doubling, from 16 KiB on.
uint64_t JemallocBytes(uint64_t bytes) {
  constexpr uint64_t kSmallest = 16 << 10;
  if (bytes <= kSmallest) return bytes;
  const uint64_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

void CheckTinyFiles(const FamilyFacts& family, Findings* findings) {
  const Files tiny = FilesWhere(family, [](const TreeFile& file) {
    return file.filter.exists() && file.properties.keys() < kTinyKeys &&
           file.bytes < kTinyFileBytes;
  });
  uint64_t keys = 0, filter_bytes = 0;
  for (const TreeFile* file : tiny) {
    keys += file->properties.keys();
    filter_bytes += file->filter.bytes;
  }
  if (tiny.size() < kManyTinyFiles || 2 * tiny.size() < family.tree.file_count()) return;
  Add(findings, "tiny-files", Severity::kWarning, family.name(),
      "most files have but a few keys, each with a filter of its own",
      {"fewer than " + std::to_string(kTinyKeys) + " keys: " + QuoteFiles(tiny, family),
       "their filters have " + Thousands(filter_bytes) + " bytes for " + Thousands(keys) +
           " keys: " +
           Fixed(8 * static_cast<double>(filter_bytes) /
                     static_cast<double>(std::max<uint64_t>(keys, 1)),
                 1) +
           " bits per key"},
      "Filters are rounded up, and every file that a lookup comes to costs a probe of its own.",
      "Larger write_buffer_size and target_file_size_base; do not flush after every few writes.");
}

void CheckAllocator(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const std::string option = "optimize_filters_for_memory";
  const bool optimized = facts.options.TableValue(family.name(), option) == "true";
  if (optimized || !facts.process || !facts.process->jemalloc) return;
  uint64_t bytes = 0, allocated = 0;
  for (const TreeFile* file : family.files()) {
    if (file->filter.layout != FilterLayout::kFull) continue;
    bytes += file->filter.bytes;
    allocated += JemallocBytes(file->filter.bytes);
  }
  const uint64_t wasted = allocated - bytes;
  if (wasted < kWastedBytes ||
      static_cast<double>(wasted) < kWastedShare * static_cast<double>(bytes)) {
    return;
  }
  Add(findings, "filter-memory-waste", Severity::kWarning, family.name(),
      "filters take more memory than they fill",
      {QuoteTableOption(facts, family, option),
       "process " + std::to_string(facts.process->pid) + " uses jemalloc, which gives " +
           Thousands(allocated) + " bytes to " + Thousands(bytes) + " bytes of filters"},
      Thousands(wasted) + " bytes of memory are used for nothing.",
      "Set optimize_filters_for_memory=true: filters are then built in sizes that fit.");
}

// Data blocks need room too, and a cache of shards is never filled evenly.
constexpr double kLargestShare = 0.8;

// Less than this share of the filters that are there would hardly filter.
constexpr double kLeastBudgetShare = 0.15;

// A budget of bytes is left alone where so few lookups read a filter, or where all that is read is
// no more than this multiple of what the best would.
constexpr double kFewFilterReads = 0.02, kGoodEnough = 1.25;

// The column families of a cache. Lookups are taken to come to each as often as it has entries.
class CacheOfFamilies {
 public:
  CacheOfFamilies(const Facts& facts, const CacheUse& use)
      : facts_(facts),
        use_(use),
        cache_({static_cast<double>(use.capacity_bytes), use.high_pri_pool_ratio, use.shard_bits}) {
    double entries = 0;
    for (const FamilyFacts* family : use.families) {
      entries += static_cast<double>(family->tree.entries());
    }
    for (const FamilyFacts* family : use.families) {
      CachedTree tree;
      tree.layout = CacheLayoutOf(facts.options, family->name());
      tree.lookup_share = static_cast<double>(family->tree.entries()) / std::max(1.0, entries);
      uint64_t filter_bytes = 0;
      for (const TreeFile* file : family->files()) {
        if (IsInCache(facts, *family, *file)) filter_bytes += file->filter.bytes;
        tree.files.push_back(UnfilteredFileOf(*file, file->properties.keys()));
        tree.files.back().file.budgeted = file->filter_is_asked;
      }
      tree.budget_share = static_cast<double>(filter_bytes) / static_cast<double>(use.filter_bytes);
      trees_.push_back(std::move(tree));
    }
  }

  // Of lookups of absent keys, with the filters and the cache that are there; nothing if a filter's
  // rate is not known.
  std::optional<CacheReads> Now() const {
    std::vector<CachedFile> all;
    for (size_t i = 0; i < trees_.size(); i++) {
      std::vector<CachedFilter> filters;
      for (const TreeFile* file : use_.families[i]->files()) {
        CachedFilter& filter = filters.emplace_back();
        if (!file->filter_is_asked) continue;
        if (std::isnan(file->filter.predicted_rate)) return std::nullopt;
        filter.rate = file->filter.predicted_rate;
        filter.blocks = static_cast<double>(file->filter.partitions);
        if (!IsInCache(facts_, *use_.families[i], *file)) continue;
        filter.bytes = static_cast<double>(file->filter.bytes);
      }
      const std::vector<CachedFile> files = WithFilters(trees_[i], filters);
      all.insert(all.end(), files.begin(), files.end());
    }
    return ReadsThrough(cache_, all);
  }

  CacheAdvice Advice() const { return AdviseFor(cache_, trees_); }

  bool HaveBudgetsOfBytes() const {
    return std::all_of(use_.families.begin(), use_.families.end(), [](const FamilyFacts* f) {
      return f->policy.is_auto() && f->policy.policy->automatic()->bytes != 0;
    });
  }

  // "rocksieve.auto:6500kB", each with its column family if there are several.
  std::string Specs(const CacheAdvice& advice) const {
    std::string specs;
    for (size_t i = 0; i < advice.specs.size(); i++) {
      specs += (specs.empty() ? "" : ", ") + advice.specs[i].ToString();
      if (advice.specs.size() > 1) specs += " for column family " + use_.families[i]->name();
    }
    return specs;
  }

 private:
  const Facts& facts_;
  const CacheUse& use_;
  const BlockCache cache_;
  std::vector<CachedTree> trees_;
};

// How to have filters that fit.
std::string InWords(const CacheOfFamilies& families, const CacheAdvice& advice,
                    const std::optional<CacheReads>& now) {
  std::string words =
      "Filters that fit, however the data grows: filter_policy=" + families.Specs(advice) +
      advice.settings +
      "; then compact. By a model of the cache, a lookup of an absent key reads " +
      Fixed(advice.reads.bytes, 0) + " bytes then";
  if (now && now->bytes > advice.reads.bytes) words += " instead of " + Fixed(now->bytes, 0);
  return words + ". ";
}

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
  Add(findings, "filters-thrash", Severity::kError, "", "filters are read from disk over and over",
      {where + "rocksdb.block.cache.filter.miss COUNT : " + std::to_string(misses),
       where + "rocksdb.block.cache.filter.hit COUNT : " + std::to_string(hits) + ", so " +
           Fixed(100 * share, 0) + " % of all accesses to filters miss the cache",
       "blocks of filters in the cache's files: " + Thousands(blocks)},
      "Each such miss costs a disk read, as much as the filter is there to save.",
      "A larger block cache; cache_index_and_filter_blocks=false; or, if filters are large, "
      "partition_filters=true, so that only the part in question is read.");
}

void CheckTableCache(const Facts& facts, Findings* findings) {
  const long long most = std::atoll(facts.options.Value("DBOptions", "max_open_files").c_str());
  if (most <= 0) return;  // -1: all stay open
  uint64_t files = 0, outside_cache = 0;
  for (const FamilyFacts& family : facts.families) {
    files += family.tree.file_count();
    for (const TreeFile* file : family.files()) {
      if (file->filter.exists() && !IsInCache(facts, family, *file)) outside_cache++;
    }
  }
  if (outside_cache == 0 || files + kOtherFiles <= static_cast<uint64_t>(most)) return;
  Add(findings, "table-cache-too-small", Severity::kWarning, "",
      "not all files can be open at a time, and filters go with them",
      {QuoteDbOption(facts, "max_open_files"), Thousands(files) + " table files, of which " +
                                                   Thousands(outside_cache) +
                                                   " have a filter that is not in the block cache"},
      "Opening a file again reads its filter and its index from disk.",
      "max_open_files=-1, if the system allows so many (ulimit -n); or "
      "cache_index_and_filter_blocks=true with a block cache that is large enough.");
}

void CheckFilterSizes(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  const std::vector<CacheUse> caches = CachesWithFilters(facts);
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
  if (huge.empty()) return;
  std::vector<std::string> evidence = {
      "the largest filter has " + Thousands(largest) + " bytes; such are in " +
          QuoteFiles(huge, family),
      QuoteTableOption(facts, family, "partition_filters"),
      QuoteTableOption(facts, family, "cache_index_and_filter_blocks")};
  const bool does_not_fit = cache != nullptr && largest > cache->shard_bytes();
  if (does_not_fit) {
    evidence.push_back(QuoteCapacity(facts, *cache) + ", in " +
                       std::to_string(1 << cache->shard_bits) + " shards of " +
                       Thousands(cache->shard_bytes()) + " bytes");
  }
  Add(findings, "huge-filters", does_not_fit ? Severity::kError : Severity::kWarning, family.name(),
      does_not_fit ? "there are filters that do not fit into a shard of the block cache"
                   : "there are huge filters in one piece",
      evidence,
      does_not_fit ? "Every lookup that needs one reads it from disk."
                   : "Each is read, and held, as a whole, however few of its keys are asked for.",
      "partition_filters=true with index_type=kTwoLevelIndexSearch, then compact everything; or "
      "smaller files (target_file_size_base).");
}

void CheckMemoryWaste(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  CheckTinyFiles(family, findings);
  CheckAllocator(facts, family, findings);
}

void CheckCacheSize(const Facts& facts, Findings* findings) {
  for (const CacheUse& cache : CachesWithFilters(facts)) {
    const uint64_t needed = cache.filter_bytes + cache.index_bytes;
    if (static_cast<double>(needed) <= kLargestShare * static_cast<double>(cache.capacity_bytes)) {
      continue;
    }
    const CacheOfFamilies families(facts, cache);
    const CacheAdvice advice = families.Advice();
    const std::optional<CacheReads> now = families.Now();
    if (families.HaveBudgetsOfBytes() && now &&
        (now->filters <= kFewFilterReads || now->bytes <= kGoodEnough * advice.reads.bytes)) {
      continue;
    }
    std::vector<std::string> evidence = {
        QuoteCapacity(facts, cache),
        "filters in it: " + Thousands(cache.filter_bytes) + " bytes" +
            (cache.index_bytes == 0 ? std::string()
                                    : ", and indexes: " + Thousands(cache.index_bytes) + " bytes")};
    for (const FamilyFacts* family : cache.families) {
      evidence.push_back(
          QuoteTableOption(facts, *family, "cache_index_and_filter_blocks") +
          ", partition_filters=" + facts.options.TableValue(family->name(), "partition_filters") +
          " (column family " + family->name() + ")");
    }
    const bool fits = advice.bytes >= kLeastBudgetShare * static_cast<double>(cache.filter_bytes);
    Add(findings, "filters-exceed-cache", Severity::kWarning,
        cache.families.size() == 1 ? cache.families.front()->name() : "",
        "the block cache is too small for the filters in it", evidence,
        "Filters and data push each other out; a lookup may have to read a filter from disk before "
        "it can save a read.",
        "A larger block cache, smaller filters, or cache_index_and_filter_blocks=false, which "
        "keeps them in memory outside of it. " +
            (fits ? InWords(families, advice, now) : "") + "rocksieve whatif --cache=" +
            ByteSizeText(cache.capacity_bytes) + " shows what others cost.");
  }
}

}  // namespace rocksieve::tools
