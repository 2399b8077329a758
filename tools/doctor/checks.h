// SPDX-License-Identifier: Apache-2.0
// The checks: from facts to findings, and nothing else. A healthy database gives none, whatever its
// kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/doctor/facts.h"

namespace rocksieve::tools {

enum class Severity {
  kError,    // filters that should work do not
  kWarning,  // some do not, or cost more than they should
};

struct Finding {
  std::string id;  // stable: scripts look for it
  Severity severity = Severity::kWarning;
  std::string column_family;  // empty if it is about the whole database
  std::string title;
  std::vector<std::string> evidence;  // each quotes a file and what it says
  std::string consequence;
  std::string remedy;
};

using Findings = std::vector<Finding>;

void Add(Findings* findings, const char* id, Severity severity, const std::string& column_family,
         const std::string& title, const std::vector<std::string>& evidence,
         const std::string& consequence, const std::string& remedy);

// What a finding can be: some are an error or a warning, and have a row for each.
struct FindingKind {
  const char* id;
  Severity severity;
};

// All that checks can find, in the order of docs/command.md.
const std::vector<FindingKind>& FindingKinds();
const char* NameOf(Severity severity);  // "error", "warning"

void CheckPolicyIsThere(const Facts& facts, Findings* findings);
void CheckPolicyIsUnderstood(const Facts& facts, Findings* findings);
void CheckDamage(const Facts& facts, Findings* findings);
void CheckCacheSize(const Facts& facts, Findings* findings);
void CheckCacheMisses(const Facts& facts, Findings* findings);
void CheckTableCache(const Facts& facts, Findings* findings);
void CheckHost(const Facts& facts, Findings* findings);
void CheckRocksDbVersion(const Facts& facts, Findings* findings);
void CheckRangesAsked(const Facts& facts, Findings* findings);

// Of a column family with a policy that works.
void CheckFilesHaveFilters(const Facts& facts, const FamilyFacts& family, Findings* findings);
void CheckFiltersAreRead(const Facts& facts, const FamilyFacts& family, Findings* findings);
void CheckPrefixes(const Facts& facts, const FamilyFacts& family, Findings* findings);
void CheckRanges(const Facts& facts, const FamilyFacts& family, Findings* findings);
void CheckRangeExtractor(const Facts& facts, const FamilyFacts& family, Findings* findings);
void CheckLastLevel(const Facts& facts, const FamilyFacts& family, Findings* findings);
void CheckFilterSizes(const Facts& facts, const FamilyFacts& family, Findings* findings);
void CheckMemoryWaste(const Facts& facts, const FamilyFacts& family, Findings* findings);
void CheckAutoListener(const Facts& facts, const FamilyFacts& family, Findings* findings);

// All of them, in the order in which they are reported.
Findings RunChecks(const Facts& facts);

// What several checks look at, and the words in which they quote it.
//
// "OPTIONS-000014: filter_policy=nullptr"
std::string QuoteTableOption(const Facts& facts, const FamilyFacts& family,
                             const std::string& option);
std::string QuoteFamilyOption(const Facts& facts, const FamilyFacts& family,
                              const std::string& option);
std::string QuoteDbOption(const Facts& facts, const std::string& option);

// "LOG.old.1795251550876881, line 143: filter_policy: rocksieve.bloom:10"
std::string Quote(const Mention& mention);

using Files = std::vector<const TreeFile*>;

// "12 of 35 files with 40 % of all entries: 000012.sst (level 1), ... and 9 more"
std::string QuoteFiles(const Files& files, const FamilyFacts& family);

// Keys that a filter of the file would hold.
uint64_t KeysOf(const TreeFile& file);

// Partitions of a filter always go through the block cache.
bool IsInCache(const Facts& facts, const FamilyFacts& family, const TreeFile& file);

struct CacheUse {
  std::string address;  // as the log has it
  uint64_t capacity_bytes = 0;
  int shard_bits = 0;
  std::vector<const FamilyFacts*> families;  // whose filters are in it
  uint64_t filter_bytes = 0;
  uint64_t index_bytes = 0;  // of indexes that are in it too
  uint64_t filter_blocks = 0;
  double high_pri_pool_ratio = 0.5;

  uint64_t shard_bytes() const { return capacity_bytes >> shard_bits; }
};

// The block caches with filters in them whose size the log tells.
std::vector<CacheUse> CachesWithFilters(const Facts& facts);

// "LOG: block_cache capacity : 8388608"
std::string QuoteCapacity(const Facts& facts, const CacheUse& cache);

// Where the database says that it needs our plugin: options now or before, or files. Empty if
// nowhere, or if a policy of RocksDB's own was named since.
std::string SignOfNeed(const Facts& facts);

}  // namespace rocksieve::tools
