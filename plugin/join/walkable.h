// SPDX-License-Identifier: Apache-2.0
// Whether rows can be read by a walk (tree_walk.h): all its conditions.
//
// Everything else goes through RocksDB's iterator, also from the middle of a scan on: a file is
// only judged when the scan comes to it, and an entry of an unknown kind, or a block that cannot be
// read, is found even later.
#pragma once

#include <string>

#include <rocksdb/db.h>

#include "plugin/join/sst_filters.h"
#include "plugin/join/tree_walk.h"

namespace rocksieve::join {

// Empty if the pinned tree, as iterators with the same options show it, can be walked; else why
// not, as part of a sentence. REQUIRES: keys are ordered bytewise and have no timestamps.
std::string WhyNotWalked(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                         const PinnedTree& tree);

// Likewise of a file, which could be opened and so has a format, an index and, as far as it says,
// entries that are known.
std::string WhyNotWalked(const WalkedTree::File& file, const TableEntries& entries);

// What a walk needs to know of a pinned tree. `db` must outlive it.
WalkedTree WalkedTreeOf(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                        const PinnedTree& tree);

}  // namespace rocksieve::join
