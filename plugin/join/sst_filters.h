// SPDX-License-Identifier: Apache-2.0
// The filters of a column family's SST files, for a join that begins before any key was scanned.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>

#include "lib/join/rows/source.h"
#include "plugin/tables/table_file.h"

namespace rocksieve::join {

// Files and memtables of one state of a column family, which somebody keeps as they are.
//
// Why their filters deny no key that a scan of that state shows: RocksDB finds a key by an entry,
// a value or an operand of a merge, in a memtable or in a file. An entry that decides about the
// key in a memtable is what `memtables` shows. One in a file lies between the file's first and last
// key, and whatever its kind, it was added to the file's filter if that has whole keys. What else
// is in files (old versions, deleted keys) only lets more keys pass.
struct PinnedTree {
  rocksdb::Env* env = nullptr;
  std::vector<LiveTable> files;  // by rising `smallest`, in the order of keys
  // What is visible in memtables alone. Must not be null.
  std::unique_ptr<rocksdb::Iterator> memtables;
  uint64_t memtable_entries = 0;  // of any kind, visible or not
  bool memtable_entries_known = false;
};

// The files and memtables of the current state. It is that of iterators made with the same options
// only if the column family's super version is the same before them and after it; as long as one of
// these lives, RocksDB deletes none of the files.
void PinTree(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
             const rocksdb::ReadOptions& options, PinnedTree* tree);

// `tree` must outlive it, and is used by one reader at a time.
std::unique_ptr<ExistingFilterReader> ReadSstFilters(PinnedTree* tree, const KeyInterval& interval);

// Built-in Bloom and Ribbon filters of RocksDB. Null for a block that RocksDB could not read, or
// takes for one that all keys may be in.
std::unique_ptr<KeyFilter> DecodeBuiltinFilter(std::string_view block);

}  // namespace rocksieve::join
