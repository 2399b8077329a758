// SPDX-License-Identifier: Apache-2.0
// All that `doctor` looks at. The checks see nothing else, so that each can be tested by itself.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/column_family.h"
#include "plugin/database/policy_spec.h"
#include "plugin/database/tree.h"
#include "support/progress.h"

namespace rocksieve::tools {

// What a process that uses RocksDB has loaded, as far as Linux tells: /proc/N needs no symbols.
//
// A file of machine code that the process has mapped.
struct LoadedFile {
  std::string path;
  bool replaced = false;         // on disk since it was loaded
  bool exports_rocksdb = false;  // so that a plugin can find RocksDB in it
};

struct ProcessFacts {
  int pid = 0;
  std::string program;  // path of the executable
  // Every copy of RocksDB's code in it: librocksdb.so, or a program or library that contains one.
  std::vector<LoadedFile> rocksdb_copies;
  std::vector<LoadedFile> plugins;  // librocksieve.so, and the build for a release that it loaded
  std::string plugin_built_for;     // "7.8"; empty if no build is loaded
  std::string preload;              // LD_PRELOAD, as the process was started with
  bool jemalloc = false;

  // Where plugins register: the shared RocksDB. Null if there is none.
  const LoadedFile* shared_rocksdb() const { return FindCopy(/*shared=*/true); }
  // What else has RocksDB's code inside: a program, or an extension of a language's runtime. Null
  // if nothing has.
  const LoadedFile* static_rocksdb() const { return FindCopy(/*shared=*/false); }
  // "7.8" of .../librocksdb.so.7.8.3; empty if the name does not tell, or there is none.
  std::string shared_rocksdb_series() const;

 private:
  const LoadedFile* FindCopy(bool shared) const;
};

// InvalidArgument if there is no such process, if it may not be looked at, or if it has no file of
// the database open.
rocksdb::Status ReadProcess(int pid, const std::string& database_directory, ProcessFacts* facts);

// The process that holds the database's lock, and so writes to it; 0 if none does, or none that can
// be seen from here.
int LockHolder(const std::string& database_directory);

// What RocksDB's info log tells: with which options a database was opened, what the plugin
// complained about, and the statistics that are dumped from time to time.
//
// Only those who open a database for writing have a log (SanitizeOptions(), RocksDB 7.8); each has
// a new one, and the one before is renamed to LOG.old.TIME.
//
// In the plugin's report of a policy that nobody refused.
inline constexpr const char* kWrongPolicyTaken = "a wrong filter_policy was taken";
// In that of options that do not partition what they seem to.
inline constexpr const char* kNotPartitioned = "filters are not partitioned";

// Options of a column family that its OPTIONS file does not have, or had differently then.
struct LoggedFamily {
  std::string filter_policy;       // its Name(): the spec if it is ours, without bits if RocksDB's
  uint64_t line = 0;               // where that stands
  std::string block_cache;         // an address: equal ones are one cache
  uint64_t block_cache_bytes = 0;  // 0 if not known
  int block_cache_shard_bits = 0;
  double high_pri_pool_ratio = 0.5;  // of the block cache
};

struct LoggedLine {
  uint64_t line = 0;
  std::string text;
};

struct LogFile {
  std::string name;  // "LOG"
  std::string rocksdb_version;
  std::map<std::string, LoggedFamily> families;
  std::vector<LoggedLine> plugin_reports;     // of trouble: the first ones, without date
  std::map<std::string, LoggedLine> follows;  // by column family: how rocksieve.auto knows its tree
  std::map<std::string, uint64_t> tickers;    // of the last dump: "rocksdb.block.cache.hit"
  uint64_t tickers_line = 0;                  // where that begins

  bool opened() const { return !families.empty(); }  // else the opening failed early
  uint64_t ticker(const std::string& ticker_name) const;
};

LogFile ParseLog(std::istream& text);

// Names of the files in the directory that are the prefix and a number; the largest number, which
// is the newest, first.
std::vector<std::string> NumberedFiles(const std::string& directory, std::string_view prefix);

// The logs in the directory, newest first. Reads the newest one that got as far as opening the
// database to its end, of some older ones the beginnings. Files that cannot be read are left out.
std::vector<LogFile> ReadLogs(const std::string& directory);

// A filter policy, from the words in an OPTIONS file.
struct PolicyFacts {
  // Empty words: there is no OPTIONS file, or the tables are not block-based.
  static PolicyFacts Describe(const std::string& words);

  std::string spec;
  std::optional<PolicySpec> policy;  // "nullptr": the one that is none; nothing if not understood
  std::string error;                 // if it is unknown: what is wrong with it
  // The compatibility name: filters stored under another are not looked at.
  std::string stored_name;

  bool is_none() const { return policy && policy->is_none(); }
  bool works() const { return policy && !policy->is_none(); }
  // Neither rocksieve nor RocksDB makes a policy of it.
  bool is_unknown() const { return !error.empty(); }
  // Decides file by file, and may leave a filter out.
  bool is_auto() const { return policy && policy->automatic() != nullptr; }
  bool is_ours() const { return is_auto() || (policy && policy->ours() != nullptr); }
};

// What was said somewhere, and where.
struct Mention {
  std::string text;
  std::string where;  // "OPTIONS-000007", "LOG.old.1795251550876881, line 143"
};

struct FamilyFacts {
  std::string name() const { return tree.family.name; }
  std::vector<const TreeFile*> files() const;  // that could be read, by level

  Tree tree;
  bool is_block_based = true;  // by the options: the other table formats have no filters
  PolicyFacts policy;
  std::vector<Mention> earlier_policies;  // in older OPTIONS files and logs, newest first
};

struct Facts {
  // The newest log that got as far as opening the database; null if there is none.
  const LogFile* log() const;
  const LoggedFamily* logged(const std::string& family) const;

  std::string directory;
  OptionsFile options;
  std::vector<FamilyFacts> families;
  std::vector<LogFile> logs;  // newest first
  std::optional<ProcessFacts> process;
  int lock_holder = 0;  // the process that has the database open for writing; 0 if none is seen
};

// pid 0: of no process. Reads all filters, but no keys.
rocksdb::Status GatherFacts(const std::string& directory, int pid, Progress* progress,
                            Facts* facts);

// The same of a database that is open, with the process that holds its lock, if that can be seen:
// of another user's less can be, and then the other checks have to do.
Facts FactsOf(DatabaseTrees opened, Progress* progress);

// The checks: from facts to findings, and nothing else. A healthy database gives none, whatever its
// kind.

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
void CheckPartitions(const Facts& facts, const FamilyFacts& family, Findings* findings);
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
// "LOG, line 143: ..."
std::string Quote(const LogFile& log, const LoggedLine& line);
// "000012.sst says: prefix extractor none"
std::string QuoteExtractor(const TreeFile& file);

using Files = std::vector<const TreeFile*>;

// Of the files that could be read, those that it holds for.
template <typename Predicate>
Files FilesWhere(const FamilyFacts& family, const Predicate& holds) {
  Files files = family.files();
  std::erase_if(files, [&](const TreeFile* file) { return !holds(*file); });
  return files;
}

// "12 of 35 files with 40 % of all entries: 000012.sst (level 1), ... and 9 more"
std::string QuoteFiles(const Files& files, const FamilyFacts& family);

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
