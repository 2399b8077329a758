// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/checks.h"

#include <algorithm>
#include <map>

#include "plugin/database/tree.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

struct Check {
  using OfDatabase = void(const Facts& facts, Findings* findings);
  using OfFamily = void(const Facts& facts, const FamilyFacts& family, Findings* findings);

  constexpr Check(OfDatabase* check) : of_database(check) {}  // NOLINT: a table of functions
  constexpr Check(OfFamily* check) : of_family(check) {}      // NOLINT

  OfDatabase* of_database = nullptr;
  OfFamily* of_family = nullptr;
};

std::string Quoted(const Facts& facts, const std::string& option, const std::string& value) {
  return facts.options.file_name() + ": " + option + "=" + value;
}

bool NamesUs(const std::string& policy) { return policy.rfind("rocksieve", 0) == 0; }

}  // namespace

const std::vector<FindingKind>& FindingKinds() {
  static const std::vector<FindingKind> kinds = {
      {"static-rocksdb", Severity::kError},
      {"plugin-not-loaded", Severity::kError},
      {"plugin-wrong-version", Severity::kError},
      {"plugin-replaced", Severity::kWarning},
      {"unsupported-rocksdb", Severity::kError},
      {"no-options-file", Severity::kWarning},
      {"no-policy", Severity::kWarning},
      {"policy-lost", Severity::kError},
      {"bad-spec", Severity::kError},
      {"unknown-policy", Severity::kWarning},
      {"unreadable-filters", Severity::kError},
      {"obsolete-filters", Severity::kError},
      {"prefix-extractor-missing", Severity::kError},
      {"prefix-extractor-changed", Severity::kError},
      {"prefix-extractor-changed", Severity::kWarning},
      {"whole-keys-missing", Severity::kWarning},
      {"ranges-unfiltered", Severity::kWarning},
      {"prefix-extractor-shared", Severity::kWarning},
      {"ranges-unasked", Severity::kWarning},
      {"unreadable-files", Severity::kError},
      {"damaged-filters", Severity::kError},
      {"later-version-filters", Severity::kError},
      {"plugin-report", Severity::kWarning},
      {"files-without-filters", Severity::kWarning},
      {"partitions-without-index", Severity::kError},
      {"partitions-without-index", Severity::kWarning},
      {"last-level-unfiltered", Severity::kWarning},
      {"filters-thrash", Severity::kError},
      {"filters-exceed-cache", Severity::kWarning},
      {"table-cache-too-small", Severity::kWarning},
      {"huge-filters", Severity::kError},
      {"huge-filters", Severity::kWarning},
      {"tiny-files", Severity::kWarning},
      {"filter-memory-waste", Severity::kWarning},
      {"auto-without-listener", Severity::kWarning},
  };
  return kinds;
}

void Add(Findings* findings, const char* id, Severity severity, const std::string& column_family,
         const std::string& title, const std::vector<std::string>& evidence,
         const std::string& consequence, const std::string& remedy) {
  findings->push_back({id, severity, column_family, title, evidence, consequence, remedy});
}

const char* NameOf(Severity severity) { return severity == Severity::kError ? "error" : "warning"; }

Findings RunChecks(const Facts& facts) {
  // What explains others comes first.
  constexpr Check kChecks[] = {
      CheckHost,           CheckRocksDbVersion, CheckPolicyIsThere,    CheckPolicyIsUnderstood,
      CheckFiltersAreRead, CheckPrefixes,       CheckRanges,           CheckRangeExtractor,
      CheckRangesAsked,    CheckDamage,         CheckFilesHaveFilters, CheckPartitions,
      CheckLastLevel,      CheckCacheMisses,    CheckCacheSize,        CheckTableCache,
      CheckFilterSizes,    CheckMemoryWaste,    CheckAutoListener,
  };
  Findings findings;
  for (const Check& check : kChecks) {
    if (check.of_database != nullptr) check.of_database(facts, &findings);
    for (const FamilyFacts& family : facts.families) {
      if (check.of_family == nullptr || !family.policy.works()) continue;
      check.of_family(facts, family, &findings);
    }
  }
  std::stable_partition(findings.begin(), findings.end(),
                        [](const Finding& f) { return f.severity == Severity::kError; });
  return findings;
}

std::string QuoteTableOption(const Facts& facts, const FamilyFacts& family,
                             const std::string& option) {
  return Quoted(facts, option, facts.options.TableValue(family.name(), option));
}

std::string QuoteFamilyOption(const Facts& facts, const FamilyFacts& family,
                              const std::string& option) {
  return Quoted(facts, option, facts.options.ColumnFamilyValue(family.name(), option));
}

std::string QuoteDbOption(const Facts& facts, const std::string& option) {
  return Quoted(facts, option, facts.options.Value("DBOptions", option));
}

std::string Quote(const Mention& mention) {
  return mention.where + ": filter_policy: " + mention.text;
}

std::string Quote(const LogFile& log, const LoggedLine& line) {
  return log.name + ", line " + std::to_string(line.line) + ": " + line.text;
}

std::string QuoteExtractor(const TreeFile& file) {
  const std::string& name = file.properties.prefix_extractor_name;
  return file.name + " says: prefix extractor " + (name.empty() ? "none" : name);
}

std::string QuoteFiles(const Files& files, const FamilyFacts& family) {
  constexpr size_t kNamed = 3;
  uint64_t entries = 0;
  for (const TreeFile* file : files) entries += file->properties.entries;
  const auto all = static_cast<double>(std::max<uint64_t>(family.tree.entries(), 1));
  std::string text = Thousands(files.size()) + " of " + Thousands(family.tree.file_count()) +
                     " files with " + Fixed(100 * static_cast<double>(entries) / all, 0) +
                     " % of all entries: ";
  for (size_t i = 0; i < std::min(kNamed, files.size()); i++) {
    text +=
        (i == 0 ? "" : ", ") + files[i]->name + " (level " + std::to_string(files[i]->level) + ")";
  }
  if (files.size() > kNamed) text += " and " + Thousands(files.size() - kNamed) + " more";
  return text;
}

bool IsInCache(const Facts& facts, const FamilyFacts& family, const TreeFile& file) {
  if (!file.filter.exists() || !family.policy.works()) return false;
  return CachesFilters(facts.options, family.name()) ||
         file.filter.layout == FilterLayout::kPartitioned;
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
    cache.high_pri_pool_ratio = logged->high_pri_pool_ratio;
    bool any = false;
    for (const TreeFile* file : family.files()) {
      if (!IsInCache(facts, family, *file)) continue;
      any = true;
      cache.filter_bytes += file->filter.bytes;
      cache.filter_blocks += std::max<uint64_t>(1, file->filter.partitions);
      if (CachesFilters(facts.options, family.name()))
        cache.index_bytes += file->properties.index_bytes;
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

std::string SignOfNeed(const Facts& facts) {
  for (const FamilyFacts& family : facts.families) {
    if (NamesUs(family.policy.spec)) return QuoteTableOption(facts, family, "filter_policy");
    if (!family.policy.is_none()) continue;
    for (const Mention& mention : family.earlier_policies) {
      if (NamesUs(mention.text)) return Quote(mention);
    }
    for (const TreeFile* file : family.files()) {
      const std::string& built_with = file->properties.filter_policy_name;
      if (NamesUs(built_with)) return file->name + " says: filter policy " + built_with;
    }
  }
  return "";
}

}  // namespace rocksieve::tools
