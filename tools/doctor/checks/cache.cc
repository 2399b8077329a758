// SPDX-License-Identifier: Apache-2.0
// Are filters, indexes and data too much for the block cache, and what would fit?
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/budget/cache_reads.h"
#include "support/table.h"
#include "support/text.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {

// Findings: filters-exceed-cache.
namespace {

// Data blocks need room too, and a cache of shards is never filled evenly.
constexpr double kLargestShare = 0.8;

// Less than this share of the filters that are there would hardly filter.
constexpr double kLeastBudgetShare = 0.15;

// A budget of bytes is left alone where so few lookups read a filter, or where all that is read is
// no more than this multiple of what the best would.
constexpr double kFewFilterReads = 0.02, kGoodEnough = 1.25;

// What suits a cache of filters and indexes: data makes room for them, and the indexes of their
// partitions for what is asked for more often.
constexpr double kBestPoolRatio = 1;

bool IsTrue(const Facts& facts, const FamilyFacts& family, const std::string& option) {
  return facts.options.TableValue(family.name(), option) == "true";
}

CacheLayout LayoutOf(const Facts& facts, const FamilyFacts& family) {
  CacheLayout layout;
  const std::string index_type = facts.options.TableValue(family.name(), "index_type");
  const std::string partition = facts.options.TableValue(family.name(), "metadata_block_size");
  const std::string pinned =
      facts.options.TableValue(family.name(), "pin_top_level_index_and_filter");
  layout.indexes_partitioned = index_type == "kTwoLevelIndexSearch";
  layout.filters_partitioned =
      layout.indexes_partitioned && IsTrue(facts, family, "partition_filters");
  // Partitions go through the cache, whatever the option says.
  layout.indexes_cached = layout.indexes_partitioned || CachesFilters(facts, family);
  if (std::atof(partition.c_str()) >= 1) layout.partition_bytes = std::atof(partition.c_str());
  layout.top_levels_pinned = pinned != "false";
  return layout;
}

double DataBlockBytes(const TableProperties& properties) {
  if (properties.data_blocks == 0) return CachedFile().data_block_bytes;
  return static_cast<double>(properties.data_bytes) / static_cast<double>(properties.data_blocks);
}

// The column families of a cache. Lookups are taken to come to each as often as it has entries.
class CacheOfFamilies {
 public:
  CacheOfFamilies(const Facts& facts, const CacheUse& cache) : facts_(facts), cache_(cache) {
    double entries = 0;
    for (const FamilyFacts* family : cache.families) {
      entries += static_cast<double>(family->tree.entries());
    }
    for (const FamilyFacts* family : cache.families) {
      CachedTree tree;
      tree.layout = LayoutOf(facts, *family);
      tree.lookup_share = static_cast<double>(family->tree.entries()) / std::max(1.0, entries);
      uint64_t filter_bytes = 0;
      for (const TreeFile* file : family->files()) {
        if (IsInCache(facts, *family, *file)) filter_bytes += file->filter.bytes;
        const uint64_t keys = KeysOf(*file);
        tree.files.push_back({{file->smallest, file->largest, file->properties.entries, keys},
                              static_cast<double>(file->properties.index_bytes),
                              DataBlockBytes(file->properties)});
      }
      tree.budget_share =
          static_cast<double>(filter_bytes) / static_cast<double>(cache.filter_bytes);
      trees_.push_back(std::move(tree));
    }
  }

  // Of lookups of absent keys, with the filters and the cache that are there; nothing if a filter's
  // rate is not known.
  std::optional<CacheReads> Now() const {
    std::vector<CachedFile> cached;
    for (size_t i = 0; i < trees_.size(); i++) {
      const FamilyFacts& family = *cache_.families[i];
      const Files files = family.files();
      std::vector<BudgetedFile> ranges;
      for (const UnfilteredFile& file : trees_[i].files) ranges.push_back(file.file);
      const std::vector<double> weights = LookupWeights(ranges);
      for (size_t f = 0; f < files.size(); f++) {
        CachedFile file;
        file.lookup_weight = trees_[i].lookup_share * weights[f];
        file.rate = files[f]->filter_is_asked ? files[f]->filter.predicted_rate : 1;
        if (std::isnan(file.rate)) return std::nullopt;
        if (IsInCache(facts_, family, *files[f])) {
          file.filter_bytes = static_cast<double>(files[f]->filter.bytes);
        }
        if (trees_[i].layout.indexes_cached) file.index_bytes = trees_[i].files[f].index_bytes;
        file.data_block_bytes = trees_[i].files[f].data_block_bytes;
        trees_[i].layout.Cut(static_cast<double>(files[f]->filter.partitions), &file);
        cached.push_back(file);
      }
    }
    return ReadsThrough({Room(), cache_.high_pri_pool_ratio}, cached);
  }

  // As the best budget would, in a cache that is set to suit it.
  CacheBudget Best() const {
    std::vector<CachedTree> trees = trees_;
    for (CachedTree& tree : trees) tree.layout.top_levels_pinned = false;
    return BestBudget(Allocator(AutoSpec().ForAllocator()), trees, {Room(), kBestPoolRatio});
  }

  bool HaveBudgetsOfBytes() const {
    return std::all_of(cache_.families.begin(), cache_.families.end(), [](const FamilyFacts* f) {
      return f->policy.is_auto() && f->policy.policy->automatic()->bytes != 0;
    });
  }

  // "rocksieve.auto:6500kB", of each column family in proportion to its filters now.
  std::string SpecsOf(double budget_bytes) const {
    std::string specs;
    for (size_t i = 0; i < trees_.size(); i++) {
      AutoSpec spec;
      spec.bytes =
          std::max(AutoSpec::kMinBytes, RoundedDown(trees_[i].budget_share * budget_bytes));
      specs += (specs.empty() ? "" : ", ") + spec.ToString();
      if (trees_.size() > 1) specs += " for column family " + cache_.families[i]->name();
    }
    return specs;
  }

  // What else to set, as the sentence goes on.
  std::string Settings() const {
    std::string settings;
    if (cache_.high_pri_pool_ratio < kBestPoolRatio) {
      settings += ", a block cache with high_pri_pool_ratio=1 (now " +
                  Significant(cache_.high_pri_pool_ratio, 2) + ")";
    }
    if (std::any_of(trees_.begin(), trees_.end(), [](const CachedTree& tree) {
          return tree.layout.indexes_partitioned && tree.layout.top_levels_pinned;
        })) {
      settings += ", pin_top_level_index_and_filter=false";
    }
    return settings;
  }

 private:
  // Shards are not filled evenly: one that has more filters than others, by a standard deviation,
  // is still to hold them.
  double Room() const {
    const auto capacity = static_cast<double>(cache_.capacity_bytes);
    if (cache_.shard_bits <= 0) return capacity;
    const double per_shard = static_cast<double>(cache_.filter_blocks) /
                             static_cast<double>(uint64_t{1} << cache_.shard_bits);
    return capacity * std::max(0.5, 1 - 1 / std::sqrt(std::max(per_shard, 1e-9)));
  }

  // Three digits, so that little of a tight cache is lost.
  static uint64_t RoundedDown(double bytes) {
    uint64_t step = 1;
    while (bytes >= 1000 * static_cast<double>(step)) step *= 10;
    return static_cast<uint64_t>(bytes) / step * step;
  }

  const Facts& facts_;
  const CacheUse& cache_;
  std::vector<CachedTree> trees_;
};

// How to have filters that fit; empty if next to nothing does.
std::string BudgetAdvice(const CacheOfFamilies& families, const CacheBudget& best,
                         const std::optional<CacheReads>& now) {
  std::string advice =
      "Filters that fit, however the data grows: filter_policy=" + families.SpecsOf(best.bytes) +
      ", with listeners={rocksieve.listener}" + families.Settings() +
      "; then compact. By a model of the cache, a lookup of an absent key reads " +
      Fixed(best.reads.bytes, 0) + " bytes then";
  if (now && now->bytes > best.reads.bytes) {
    advice += " instead of " + Fixed(now->bytes, 0);
  }
  return advice + ". ";
}

}  // namespace

void CheckCacheSize(const Facts& facts, Findings* findings) {
  for (const CacheUse& cache : CachesWithFilters(facts)) {
    const uint64_t needed = cache.filter_bytes + cache.index_bytes;
    if (static_cast<double>(needed) <= kLargestShare * static_cast<double>(cache.capacity_bytes)) {
      continue;
    }
    const CacheOfFamilies families(facts, cache);
    const CacheBudget best = families.Best();
    const std::optional<CacheReads> now = families.Now();
    if (families.HaveBudgetsOfBytes() && now &&
        (now->filters <= kFewFilterReads || now->bytes <= kGoodEnough * best.reads.bytes)) {
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
    const bool fits = best.bytes >= kLeastBudgetShare * static_cast<double>(cache.filter_bytes);
    findings->push_back(
        {"filters-exceed-cache", Severity::kWarning,
         cache.families.size() == 1 ? cache.families.front()->name() : "",
         "the block cache is too small for the filters in it", evidence,
         "Filters and data push each other out; a lookup may have to read a filter from disk "
         "before it can save a read.",
         "A larger block cache, smaller filters, or cache_index_and_filter_blocks=false, which "
         "keeps them in memory outside of it. " +
             (fits ? BudgetAdvice(families, best, now) : "") +
             "rocksieve whatif shows what smaller ones cost."});
  }
}

}  // namespace rocksieve::tools
