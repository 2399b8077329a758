// SPDX-License-Identifier: Apache-2.0
// What lookups of missing keys meet in a tree: its filters, asked without reading data, and the
// data blocks that are read where a filter lets them pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "support/progress.h"

namespace rocksieve {

using Keys = std::vector<std::string>;
using Ranges = std::vector<EmptyRange>;

// Keys or ranges number `begin` up to but without `end`.
struct KeySpan {
  size_t begin = 0, end = 0;
  size_t size() const { return end - begin; }
};

// As the column family orders them.
void SortKeys(const ColumnFamily& family, Keys* keys);

// The keys, sorted, that come to a file; all, if their order is unknown.
KeySpan KeysThatMeet(const Tree& tree, const TreeFile& file, const Keys& keys);

// The same of ranges that are sorted by their begins: a seek comes to the first file of a level
// that ends behind it, and to each such file of level 0. `file`: which one of the level.
KeySpan RangesThatMeet(const TreeLevel& level, size_t file, const Ranges& ranges);

// What happened at one file, to keys or to ranges.
struct FileProbes {
  uint64_t lookups = 0;         // that come to this file
  uint64_t passes = 0;          // of those, such that its filter lets through, so a block is read
  bool filter_answers = false;  // false: no filter, or not asked, or unreadable: all pass
  double predicted = 0;         // passes that are expected; NaN if nobody knows
};

// Adds up files.
struct ProbeSums {
  double lookups = 0, passes = 0, predicted = 0;
  // Of the files whose filters answer.
  double filter_lookups = 0, filter_passes = 0, filter_predicted = 0;

  void Add(const FileProbes& file);
};

struct TreeProbes {
  uint64_t keys = 0;                            // or ranges
  std::vector<std::vector<FileProbes>> levels;  // as Tree::levels and their files
  // Of one lookup of a missing key, over all files.
  double files_met = 0;
  double passes = 0;
  double passes_low_95 = 0, passes_high_95 = 0;
};

// Sorts the keys. Each is looked up in all files that RocksDB comes to (Tree::LookupComesTo()).
// Advances by one per file.
rocksdb::Status ProbeTree(const Tree& tree, Keys* keys, Progress* progress, TreeProbes* probes);

// Sorts the ranges. Each is sought, with its upper bound, in all files that RocksDB comes to.
// Advances by one per file. REQUIRES: the order of keys is bytewise.
rocksdb::Status ProbeRanges(const Tree& tree, Ranges* ranges, Progress* progress,
                            TreeProbes* probes);

// How many data blocks a lookup reads in a file whose filter lets it pass.
struct BlockReads {
  // Mostly 1: even a key that lies between two blocks reads one. A key between the last key of a
  // block and the boundary that the index has for it reads the next one too, which tells if blocks
  // hold one or two keys; an index that knows the first keys of blocks (kBinarySearchWithFirstKey)
  // saves reads.
  double per_pass = 1;
  uint64_t keys_tried = 0;
  uint64_t keys_found = 0;  // of those; they are not missing at all
  std::string error;        // what kept it from being measured; empty if nothing did
};

// Looks up some of the keys, or of the ranges, in the database without filters, and counts blocks
// with RocksDB's own counters.
BlockReads MeasureBlockReads(const Tree& tree, const Keys& keys);
BlockReads MeasureRangeReads(const Tree& tree, const Ranges& ranges);

}  // namespace rocksieve
