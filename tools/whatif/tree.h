// The tree of a column family, as far as predictions need it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rocksieve::tools {

// What a filter is built from and asked for.
struct PlannedFile {
  int level = 0;
  std::string smallest, largest;  // user keys without timestamps
  uint64_t entries = 0;           // tombstones and old versions included
  uint64_t filter_keys = 0;       // distinct keys and prefixes that a filter of it holds
  double key_bytes = 0;           // mean, of user keys
  uint64_t data_blocks = 0;
  double index_entry_bytes = 0;   // mean, per data block
  // Made by a flush, for which RocksDB's Ribbon policy makes Bloom filters.
  bool flushed = false;
  // Nothing older lies below: where optimize_filters_for_hits leaves filters out.
  bool bottommost = false;

  // The probability that a lookup of a missing key meets the file.
  double meets = 0;
  // Among the lookups that meet it, those that no filter can spare: a filter of prefixes only is
  // asked for the prefix, and has it.
  double prefix_present = 0;

  // As it is now.
  uint64_t filter_bytes = 0;
  double filter_rate = 1;  // predicted from the filter; 1 if it has none
};

// Of the column family's options, what changes the size of filters.
struct FilterOptions {
  bool partitioned = false;
  uint64_t partition_bytes = 4096;      // metadata_block_size
  int partition_deviation_percent = 10;  // block_size_deviation
  bool skip_bottommost = false;         // optimize_filters_for_hits
  bool fifo = false;                    // RocksDB's Ribbon policy then treats flushes like others
};

struct PlannedTree {
  std::string column_family;
  FilterOptions options;
  std::vector<PlannedFile> files;  // by level
  bool has_filters = false;        // at least one file

  uint64_t Entries() const {
    uint64_t entries = 0;
    for (const PlannedFile& file : files) entries += file.entries;
    return entries;
  }
};

}  // namespace rocksieve::tools
