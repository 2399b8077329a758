// SPDX-License-Identifier: Apache-2.0
// The tree of a column family: its files by level, with what is known of each and of its filter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/status.h>

#include "lib/budget/auto_spec.h"
#include "lib/budget/cache_reads.h"
#include "lib/filter/family.h"
#include "plugin/database/column_family.h"
#include "plugin/database/database.h"
#include "plugin/database/snapshot_files.h"
#include "plugin/tables/decoded_filter.h"
#include "plugin/tables/table_file.h"
#include "support/progress.h"

namespace rocksieve {

// The filter of one table file, in memory: all its blocks, to be described and asked.
struct FilterBlockOfFile {
  FilterPartition partition;
  std::string bytes;
  DecodedFilter decoded;
  // Keys and prefixes in it: what a block of ours says, else its share of those of the file.
  uint64_t entries = 0;
  std::string damage;  // what is wrong with it; empty if nothing is
};

// What is worth remembering of a file's filter when its blocks are no longer in memory.
struct FilterSummary {
  FilterLayout layout = FilterLayout::kNone;
  // Of the block with the most keys: "rocksieve.bloom", "none", ...
  std::string family = "none";
  std::string parameters;
  FilterSetting setting;
  std::string stored_name;
  uint64_t bytes = 0;    // in the file, with the index of partitions; without what follows blocks
  uint64_t entries = 0;  // keys and prefixes that were added
  uint64_t partitions = 0;
  double predicted_rate = 1;  // FileFilter::PredictedRate()
  // False if some of it is of an unknown policy, so that what it says is only an upper bound.
  bool can_be_asked = true;
  bool answers_ranges = false;           // it keeps more than whole keys; of rocksieve.range
  std::vector<uint64_t> prefix_lengths;  // of rocksieve.range, of the largest block
  std::vector<std::string> problems;     // what is wrong, with file offsets

  bool exists() const { return layout != FilterLayout::kNone; }
};

// All but predicted_rate, which takes longer, is known from the start.
class FileFilter : public FilterSummary {
 public:
  // Always gives a filter, maybe one that lets everything pass: see `problems`.
  explicit FileFilter(const TableFile& file);

  const TableProperties& properties() const { return properties_; }  // of the file
  BlockPlace top() const { return top_; }
  const std::vector<std::unique_ptr<FilterBlockOfFile>>& blocks() const { return blocks_; }

  // Of a missing key that is spread over the partitions like the keys are. 1 if there is no filter
  // that anybody reads, NaN if that cannot be said.
  double PredictedRate() const;

  // Whether a lookup of the key goes on to read the file. Asks as RocksDB does, whole key or
  // prefix.
  bool MayContain(const ColumnFamily& column_family, std::string_view key) const;

  // Whether iterators with an upper bound ask it about their ranges: the file and the column family
  // have the extractor of rocksieve.range, and bytewise order.
  bool IsAskedForRanges(const ColumnFamily& column_family) const;

  // Whether a seek to `begin` with the upper bound `end` goes on to read the file. REQUIRES:
  // IsAskedForRanges().
  bool MayContainRange(const ColumnFamily& column_family, std::string_view begin,
                       std::string_view end) const;

  // The probability of that. REQUIRES: IsAskedForRanges().
  double PredictedRangeRate(const ColumnFamily& column_family, const EmptyRange& range) const;

 private:
  void ReadBlock(const TableFile& file, const FilterPartition& partition,
                 uint64_t entries_by_bytes);
  void DescribeLargest();
  const FilterBlockOfFile& BlockFor(const ColumnFamily& column_family, std::string_view key) const;

  TableProperties properties_;
  BlockPlace top_;
  bool index_damaged_ = false;
  std::vector<std::unique_ptr<FilterBlockOfFile>> blocks_;
};

struct TreeFile {
  std::string name;  // "000012.sst"
  std::string path;
  int level = 0;
  uint64_t bytes = 0;
  // The first and the last user key, without timestamps, as the MANIFEST has them.
  std::string smallest, largest;
  TableProperties properties;  // of an empty table if it could not be read
  FilterSummary filter;
  std::string error;                           // what kept it from being read; empty if nothing did
  bool is_missing = false;                     // not there
  bool is_later = false;                       // of a later RocksDB
  std::shared_ptr<const SnapshotFiles> files;  // where it is; null: on the disk
  std::shared_ptr<const TableFile> table;      // null if it was not read, or too many would be open

  rocksdb::Env* env() const { return files != nullptr ? files->env() : ReadOnlyEnv(); }

  // False if RocksDB does not ask the filter even though there is one: the last level under
  // optimize_filters_for_hits.
  bool filter_is_asked = true;
};

struct TreeLevel {
  int level = 0;
  // Level 0: newest first, and they may overlap. Others: in the order of their keys.
  std::vector<TreeFile> files;
};

struct Tree {
  const Database* database = nullptr;  // which has to be there for its keys to be read
  size_t number = 0;                   // of the column family there
  ColumnFamily family;
  std::vector<TreeLevel> levels;  // those with files, in ascending order

  // By level, and as they stand in it.
  std::vector<const TreeFile*> files() const;

  uint64_t entries() const;
  uint64_t filter_bytes() const;
  uint64_t file_count() const;

  rocksdb::ColumnFamilyHandle* handle() const { return database->handle(number); }

  // Whether a lookup of the key, which no file before had, comes to the file. RocksDB looks at the
  // ranges of files first, but saves that where there are up to three, all in level 0: then it goes
  // through files that begin after the key too (FilePicker in db/version_set.cc, 7.8).
  bool LookupComesTo(const TreeFile& file, std::string_view key) const;
  bool ChecksRanges() const;

  // Problems of files and of their filters, each with the file's name.
  std::vector<std::string> Problems() const;
};

// The file, opened if it is not. NotFound if it was deleted, since the database is alive.
rocksdb::Status OpenTable(const TreeFile& file, std::shared_ptr<const TableFile>* table);

// A database, and the trees of its column families.
struct DatabaseTrees {
  std::unique_ptr<Database> database;
  std::vector<Tree> trees;
};

// Opens the database and reads the trees of its column families (all, if none is named), but no
// keys; again if files are deleted meanwhile. What is damaged or missing for good is reported in
// the trees. Advances by one per file.
rocksdb::Status OpenAndReadTrees(const std::string& directory,
                                 const std::vector<std::string>& column_families,
                                 Progress* progress, DatabaseTrees* opened);

// The trees of a database as their blocks go through a block cache, and what to advise where that
// is too small for the filters. The model is lib/budget/cache_reads.h.

// cache_index_and_filter_blocks. Else whole filters and indexes stay in memory for as long as their
// file is open; their partitions are in the cache whatever it says.
bool CachesFilters(const OptionsFile& options, const std::string& column_family);

// How indexes and filters are cut and cached, by the options of the column family.
CacheLayout CacheLayoutOf(const OptionsFile& options, const std::string& column_family);

// `filter_keys`: that a filter of the file holds, or would.
UnfilteredFile UnfilteredFileOf(const TreeFile& file, uint64_t filter_keys);

// Budgets of bytes, and a cache that is set to suit them.
struct CacheAdvice {
  std::vector<AutoSpec> specs;  // "rocksieve.auto:6500kB", one for each tree
  double bytes = 0;             // of all filters; the specs are rounded
  CacheReads reads;             // then, per lookup of an absent key
  // What else to set, each with a comma before it: ", pin_top_level_index_and_filter=false".
  std::string settings;
};

// `trees`: of all column families that use the cache. By a model that knows lookups of absent keys
// alone. Cost: some 0.1 ms per file.
CacheAdvice AdviseFor(const BlockCache& cache, std::vector<CachedTree> trees);

}  // namespace rocksieve
