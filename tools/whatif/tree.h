// SPDX-License-Identifier: Apache-2.0
// The tree of a column family, as far as predictions need it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/status.h>

#include "lib/budget/cache_reads.h"
#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "support/progress.h"

namespace rocksieve::tools {

// The keys of one table file, in order.

class TableKeys {
 public:
  // Null if the file cannot be opened. The column family must outlive it.
  static std::unique_ptr<TableKeys> Open(const ColumnFamily& family, const TreeFile& file);

  rocksdb::Iterator* operator->() const { return keys_.get(); }

 private:
  explicit TableKeys(const rocksdb::Options& options) : reader_(options) {}

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
  std::string column_family;
  FilterOptions options;
  CacheLayout cache_layout;
  bool filters_cached = false;  // so say the options: not partitions alone are in the block cache
  std::vector<PlannedFile> files;  // by level
  bool has_filters = false;        // at least one file
  bool answers_ranges = false;     // so says the policy that new files get
  // Data blocks that a lookup reads in a file that it searches; mostly 1.
  double blocks_per_search = 1;

  uint64_t Entries() const {
    uint64_t entries = 0;
    for (const PlannedFile& file : files) entries += file.entries();
    return entries;
  }
};

// `tree`: what ReadTree() made of a column family of the database. Where lookups go is left open.
PlannedTree PlanTree(const Database& database, const Tree& tree);

// Fills in where lookups of missing keys go, PlannedFile::meets and prefix_present, but for files
// that cannot be read. Sorts the keys. `planned`: PlanTree() of `tree`. Advances by one per file.
rocksdb::Status PlaceLookups(const Tree& tree, std::vector<std::string>* missing_keys,
                             Progress* progress, PlannedTree* planned);

}  // namespace rocksieve::tools
