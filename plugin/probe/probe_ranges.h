// SPDX-License-Identifier: Apache-2.0
// What iterators over empty ranges meet in a tree: its filters, asked without reading data.
#pragma once

#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "plugin/probe/probe_tree.h"
#include "support/progress.h"

namespace rocksieve {

// Ranges number `begin` up to but without `end` come to the file, of ranges that are sorted by
// their begins: a seek comes to the first file of a level that ends behind it, and to each such
// file of level 0. `file`: which one of the level.
KeySpan RangesThatMeet(const TreeLevel& level, size_t file, const std::vector<EmptyRange>& ranges);

// Sorts the ranges. Each is sought, with its upper bound, in all files that RocksDB comes to.
// `keys`, `lookups` and so on count ranges. Advances by one per file. REQUIRES: the order of keys
// is bytewise.
rocksdb::Status ProbeRanges(const Tree& tree, std::vector<EmptyRange>* ranges, Progress* progress,
                            TreeProbes* probes);

// Reads some of the ranges in the database without filters, and counts blocks with RocksDB's own
// counters.
BlockReads MeasureRangeReads(const Database& database, size_t family, const Tree& tree,
                             const std::vector<EmptyRange>& ranges);

}  // namespace rocksieve
