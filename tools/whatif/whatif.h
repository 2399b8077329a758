// SPDX-License-Identifier: Apache-2.0
// What other filter policies would do on the tree that a database has, and the tree as far as
// predictions need it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/status.h>

#include "lib/budget/cache_reads.h"
#include "plugin/database/policy_spec.h"
#include "plugin/database/tree.h"
#include "support/chart.h"
#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

struct WhatIfOptions {
  std::string database;
  std::vector<std::string> specs;
  std::vector<std::string> column_families;  // all, if empty
  std::string probes;                        // a file of missing keys; empty: made ones
  bool probes_are_hex = false;
  int least_bits = 6, most_bits = 20;  // per entry
  double read_us = 80;
  bool with_ranges = false;  // iterators over ranges without keys as well
  std::string ranges;        // a file of ranges; empty: made ones
  // That each column family is to have for itself, with filters and indexes in it; 0 bytes: nothing
  // is said of it.
  BlockCache block_cache;
};

// The document of docs/json.md, and a picture of reads per missing key against memory for each
// column family that has files.
//
// With `opened`, of that database, and `options.database` is of no account.
rocksdb::Status RunWhatIf(const WhatIfOptions& options, Progress* progress, Json* document,
                          std::vector<Chart>* charts, const DatabaseTrees* opened = nullptr);


// The keys of one table file, in order.
class TableKeys {
 public:
  // The column family must outlive it.
  TableKeys(const ColumnFamily& family, const TreeFile& file);

  bool ok() const { return keys_ != nullptr; }  // else the file cannot be opened
  rocksdb::Iterator* operator->() const { return keys_.get(); }

 private:
  rocksdb::SstFileReader reader_;
  std::unique_ptr<rocksdb::Iterator> keys_;
};

// A file, with what its filter would be built from and asked for.
struct PlannedFile : TreeFile {
  uint64_t filter_keys = 0;  // distinct keys and prefixes that a filter of it holds
  double key_bytes = 0;      // mean, of user keys
  // That a block of ours takes for its smallest and largest entry, by the version of its frame.
  double full_range_bytes = 0, compact_range_bytes = 0;
  double index_entry_bytes = 0;  // mean, per data block
  // Made by a flush, for which RocksDB's Ribbon policy makes Bloom filters.
  bool flushed = false;

  // The probability that a lookup of a missing key meets the file.
  double meets = 0;
  // Among the lookups that meet it, those that no filter can spare: a filter of prefixes only is
  // asked for the prefix, and has it.
  double prefix_present = 0;

  uint64_t entries() const { return properties.entries; }  // tombstones, old versions included
  // Nothing older lies below: where optimize_filters_for_hits leaves filters out.
  bool bottommost() const { return !filter_is_asked; }
  // Of the filter that it has now; 1 if it has none.
  double filter_rate() const;
};

// Of the column family's options, what changes the size of filters.
struct FilterOptions {
  bool partitioned = false;
  uint64_t partition_bytes = 4096;       // metadata_block_size
  int partition_deviation_percent = 10;  // block_size_deviation
  bool decoupled = false;                // decouple_partitioned_filters, since 9.6
  bool cut_twice = false;                // since 9.6, unless decoupled: see prediction.cc
  bool legacy_bloom = false;             // format_version is less than 5
  bool skip_bottommost = false;          // optimize_filters_for_hits
  bool fifo = false;                     // RocksDB's Ribbon policy then treats flushes like others
};

struct PlannedTree {
  const Tree* tree = nullptr;
  FilterOptions options;
  CacheLayout cache_layout;
  bool filters_cached = false;  // so say the options: not partitions alone are in the block cache
  std::vector<PlannedFile> files;  // by level
  bool has_filters = false;        // at least one file
  bool answers_ranges = false;     // so says the policy that new files get
  bool lookups_are_given = false;  // by the user; else they are made like the data
  // Data blocks that a lookup reads in a file that it searches; mostly 1.
  double blocks_per_search = 1;

  uint64_t Entries() const {
    uint64_t entries = 0;
    for (const PlannedFile& file : files) entries += file.entries();
    return entries;
  }
};

// Where lookups go is left open. `tree` must outlive it.
PlannedTree PlanTree(const Tree& tree);

// Fills in where lookups of missing keys go, PlannedFile::meets and prefix_present, but for files
// that cannot be read. Sorts the keys. Advances by one per file.
rocksdb::Status PlaceLookups(std::vector<std::string>* missing_keys, Progress* progress,
                             PlannedTree* planned);

// Of a file, what a policy's filter for it would take and do, as lib/FAMILY/plan.h and
// plugin/tables/decoded_filter.h say; and what RocksDB makes of that: partitions, levels, flushes.
struct PredictedFilter {
  Family family = Family::kNone;
  double bytes = 0;   // as in the property filter_size: with the index of partitions
  double blocks = 1;  // more than 1: in partitions
  double rate = 1;    // of a key that is not in the file
};

struct LevelPrediction {
  int level = 0;
  uint64_t files = 0, files_without_filter = 0;
  uint64_t entries = 0;
  double filter_bytes = 0;
  double meets = 0;   // files of the level that a lookup of a missing key asks
  double passes = 0;  // and those of them that it searches in vain
  double reads = 0;   // data blocks in them

  // Of the level's filters, in proportion to how often they are asked; keys whose prefix is there
  // pass as well.
  double rate() const { return meets > 0 ? passes / meets : 0; }
};

struct Prediction {
  double filter_bytes = 0;
  double reads = 0;  // useless data-block reads per lookup of a missing key
  std::vector<LevelPrediction> levels;
  // What times depend on: keys to build filters from, filters asked per lookup of a missing key.
  std::map<Family, double> keys, probes;
  std::vector<PredictedFilter> filters;  // of the tree's files, one for each
};

// The filters that the policy would build, each file rewritten at its own level.
Prediction Predict(const PlannedTree& tree, const PolicySpec& policy);

// The filters that the files have now. Of their families nothing is said.
Prediction PredictNow(const PlannedTree& tree);

// What filters cost in this process, on this machine, now: measured, since constants of another
// machine would be wrong, for some 0.1 s for each policy. One thread at a time. `key_bytes`: of the
// tree's keys, on average.
//
// Of one thread that builds all filters of the tree.
double BuildSeconds(const PolicySpec& policy, const Prediction& prediction, double key_bytes);
// Of all filters, in memory, that a lookup of a missing key asks.
double ProbeNs(const PolicySpec& policy, const Prediction& prediction, double key_bytes);

// What lookups of missing keys read where the filters of a tree share a block cache with indexes
// and data, by the model of lib/budget/cache_reads.h: fills in the "cache_advice" of docs/json.md,
// and what the filters that are there, and the policies, read through the cache. As if only the
// tree's column family used it, with filters and indexes in it, whatever its options say.
// `predictions`: of the document's policies. Cost: some 0.1 ms per file.
void CompareThroughCache(const PlannedTree& tree, const BlockCache& cache, const Prediction& now,
                         const std::vector<Prediction>& predictions, Json* document);

// What a family of filters does with more and less memory, on one tree.
struct CurvePoint {
  double bits = 0;  // the setting
  double filter_bytes = 0;
  double reads = 0;  // useless ones per lookup of a missing key
};

struct Curve {
  std::string name;
  PolicySpec family;
  std::vector<CurvePoint> points;  // with rising memory

  // Interpolated between the points, on a logarithmic scale; negative outside of them.
  double ReadsAt(double filter_bytes) const;

  // The setting that takes so much memory at most; negative if the least one takes more.
  double BitsFor(double filter_bytes) const;

  // The least memory in which the reads are no more than these; negative if there is none.
  double BytesFor(double reads) const;
};

// From less than `least` to more than `most` bits per entry, as far as the family goes.
Curve CurveOf(const PlannedTree& tree, const PolicySpec& family, double least, double most);

// Compares all families in the same memory, by the time that a lookup of a missing key takes in
// reads and probes. `filter_bytes`: the memory that may be used; `memory_words`: "in the memory
// that filters take now". The "recommendation" of docs/json.md; its "spec" is null if nothing
// should be changed.
Json Recommend(const PlannedTree& tree, const Prediction& now, const std::vector<Curve>& curves,
               double filter_bytes, const std::string& memory_words, double read_us,
               double key_bytes);

// Useless reads of 1,000 lookups, in words: two digits tell what a policy costs.
std::string ReadsPerThousand(const Json& reads);

// Begin and end, which is not part of it.
using KeyRanges = std::vector<std::pair<std::string, std::string>>;

// From a file of lines "BEGIN<TAB>END", with the escapes of joins' text; - is the standard input.
// Of very many, a part of them, evenly spread.
rocksdb::Status ReadKeyRanges(const std::string& path, KeyRanges* ranges);

// What filters of other policies would do for iterators over ranges that hold no key, the "ranges"
// of docs/json.md: for ranges of the user's own, or for such like the data if there
// are none, under no filter, rocksieve.range with several amounts of memory, and those of `specs`
// that answer for ranges. Builds filters from some keys of some files, one file after the other.
// Null, and a warning, if nothing can be said.
rocksdb::Status CompareForRanges(const PlannedTree& planned, const std::vector<PolicySpec>& specs,
                                 const KeyRanges& own, Progress* progress, Json* document,
                                 std::vector<std::string>* warnings);

}  // namespace rocksieve::tools
