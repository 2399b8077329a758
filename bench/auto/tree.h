// SPDX-License-Identifier: Apache-2.0
// The trees on which rocksieve.auto is compared with uniform filters, and building them under some
// filter policy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/program.h"
#include "integration/tree.h"

namespace rocksieve::bench {

struct Shape {
  std::string name;         // a key in the report
  std::string description;  // a row of the table
  bool universal = false;
  int ratio = 10;
  int l0_files = 0;  // that stay in level 0 in the end
  bool one_run = false;
  uint64_t keys = 0;
  uint64_t keys_per_flush = 1000;
  // Of all gains at 10 bits, the largest ratio of useless reads that the documentation promises,
  // over the uniform Bloom and the uniform Ribbon filter.
  double most_of_bloom = 0, most_of_ribbon = 0;
  bool large_files = false;  // of some 64,000 keys in the last level, four times those above
};

// Those of the documentation, with `scale` times the usual number of keys, in files as many times
// larger if that is more than 1.
std::vector<Shape> Shapes(double scale);

// 16 hexadecimal digits, evenly distributed.
std::string PresentKey(uint64_t i);
// Never written, distributed in the same way.
std::string MissingKey(uint64_t i);
// Never written, all of them in a sixteenth of the key space.
std::string NarrowMissingKey(uint64_t i);

struct Tree {
  DbPtr db;
  uint64_t keys = 0;
};

// Of the tree's database, which has the filters of table.filter_policy.
rocksdb::Options OptionsFor(const Shape& shape, const rocksdb::BlockBasedTableOptions& table,
                            bool listener);

// The same keys and operations for every policy, in place of what is in the directory: each flush
// and the compactions after it are waited for. The report's progress advances by keys.
Tree BuildTree(const Shape& shape, const rocksdb::Options& options, const std::string& directory,
               Report* report);

// Data blocks that this thread has read.
inline uint64_t DataReads() { return CostSince(0).data_block_reads; }

// What it costs to hear where lookups go.

// The key at a place of the key space, from 0 to 1.
std::string KeyAt(double place);

// Nanoseconds per query of filters of rocksieve.auto, with and without the option even, that many
// of them `at_once`, up to 32.
Table SampleCosts(bool smoke, const std::vector<size_t>& at_once);

// What a flush or compaction takes to learn from what was heard, and to decide by it. The files go
// to the directory.
Table LearningCosts(bool smoke, const std::string& directory);

}  // namespace rocksieve::bench
