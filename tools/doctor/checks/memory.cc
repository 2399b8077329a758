// SPDX-License-Identifier: Apache-2.0
// Do filters stay in memory, and is what they take worth it?
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "support/text.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {

// Findings: filters-thrash.
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

// Findings: table-cache-too-small.
namespace {

// What RocksDB keeps for other files (DBImpl, kNumNonTableCacheFiles).
constexpr uint64_t kOtherFiles = 10;

}  // namespace

void CheckTableCache(const Facts& facts, Findings* findings) {
  const long long most = std::atoll(facts.DbOption("max_open_files").c_str());
  if (most <= 0) return;  // -1: all stay open
  uint64_t files = 0, outside_cache = 0;
  for (const FamilyFacts& family : facts.families) {
    files += family.tree.file_count();
    for (const TreeFile* file : family.files()) {
      if (file->filter.exists() && !IsInCache(facts, family, *file)) outside_cache++;
    }
  }
  if (outside_cache == 0 || files + kOtherFiles <= static_cast<uint64_t>(most)) return;
  findings->push_back(
      {"table-cache-too-small",
       Severity::kWarning,
       "",
       "not all files can be open at a time, and filters go with them",
       {QuoteDbOption(facts, "max_open_files"),
        Thousands(files) + " table files, of which " + Thousands(outside_cache) +
            " have a filter that is not in the block cache"},
       "Opening a file again reads its filter and its index from disk.",
       "max_open_files=-1, if the system allows so many (ulimit -n); or "
       "cache_index_and_filter_blocks=true with a block cache that is large enough."});
}

// Findings: huge-filters.
namespace {

constexpr uint64_t kHugeInCacheBytes = 4 << 20;
constexpr uint64_t kHugeInMemoryBytes = 16 << 20;  // read once, when the file is opened

}  // namespace

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
  findings->push_back(
      {"huge-filters", does_not_fit ? Severity::kError : Severity::kWarning, family.name(),
       does_not_fit ? "there are filters that do not fit into a shard of the block cache"
                    : "there are huge filters in one piece",
       evidence,
       does_not_fit ? "Every lookup that needs one reads it from disk."
                    : "Each is read, and held, as a whole, however few of its keys are asked for.",
       "partition_filters=true with index_type=kTwoLevelIndexSearch, then compact everything; or "
       "smaller files (target_file_size_base)."});
}

// Findings: tiny-files, filter-memory-waste.
namespace {

// A filter of fewer keys is mostly rounding: RocksDB's Bloom filters come in steps of 64 bytes, and
// every filter has some bytes that say what it is.
constexpr uint64_t kTinyKeys = 128;
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
  Files tiny;
  uint64_t keys = 0, filter_bytes = 0;
  for (const TreeFile* file : family.files()) {
    if (!file->filter.exists() || KeysOf(*file) >= kTinyKeys) continue;
    tiny.push_back(file);
    keys += KeysOf(*file);
    filter_bytes += file->filter.bytes;
  }
  if (tiny.size() < kManyTinyFiles || 2 * tiny.size() < family.tree.file_count()) return;
  findings->push_back(
      {"tiny-files",
       Severity::kWarning,
       family.name(),
       "most files have but a few keys, each with a filter of its own",
       {"fewer than " + std::to_string(kTinyKeys) + " keys: " + QuoteFiles(tiny, family),
        "their filters have " + Thousands(filter_bytes) + " bytes for " + Thousands(keys) +
            " keys: " +
            Fixed(8 * static_cast<double>(filter_bytes) /
                      static_cast<double>(std::max<uint64_t>(keys, 1)),
                  1) +
            " bits per key"},
       "Filters are rounded up, and every file that a lookup comes to costs a probe of its own.",
       "Larger write_buffer_size and target_file_size_base; do not flush after every few writes."});
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
  findings->push_back(
      {"filter-memory-waste",
       Severity::kWarning,
       family.name(),
       "filters take more memory than they fill",
       {QuoteTableOption(facts, family, option),
        "process " + std::to_string(facts.process->pid) + " uses jemalloc, which gives " +
            Thousands(allocated) + " bytes to " + Thousands(bytes) + " bytes of filters"},
       Thousands(wasted) + " bytes of memory are used for nothing.",
       "Set optimize_filters_for_memory=true: filters are then built in sizes that fit."});
}

}  // namespace

void CheckMemoryWaste(const Facts& facts, const FamilyFacts& family, Findings* findings) {
  CheckTinyFiles(family, findings);
  CheckAllocator(facts, family, findings);
}

}  // namespace rocksieve::tools
