// SPDX-License-Identifier: Apache-2.0
// Are filters, indexes and data too much for the block cache, and what would fit?
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/budget/byte_size.h"
#include "lib/budget/cache_reads.h"
#include "plugin/database/cache_advice.h"
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
        tree.files.push_back(UnfilteredFileOf(*file, KeysOf(*file)));
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
    findings->push_back(
        {"filters-exceed-cache", Severity::kWarning,
         cache.families.size() == 1 ? cache.families.front()->name() : "",
         "the block cache is too small for the filters in it", evidence,
         "Filters and data push each other out; a lookup may have to read a filter from disk "
         "before it can save a read.",
         "A larger block cache, smaller filters, or cache_index_and_filter_blocks=false, which "
         "keeps them in memory outside of it. " +
             (fits ? InWords(families, advice, now) : "") + "rocksieve whatif --cache=" +
             ByteSizeText(cache.capacity_bytes) + " shows what others cost."});
  }
}

}  // namespace rocksieve::tools
