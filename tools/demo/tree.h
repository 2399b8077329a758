// SPDX-License-Identifier: Apache-2.0
// Builds the tree of the demonstration in a database, the same one for every filter.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/status.h>

#include "support/progress.h"
#include "tools/demo/variants.h"

namespace rocksieve::tools {

// Makes a database in a new directory of that name, whose levels are random parts of the keys, each
// over the whole key range, as a tree has them that has grown: most of the keys in the last level,
// fewer in the ones before, some in flushed files that overlap. The key with number i has the value
// MakeValue(i). With few keys there are fewer levels and files.
// Advances the progress by one per key. Aborted if interrupted, or RocksDB's error.
rocksdb::Status BuildTree(const std::filesystem::path& directory, const Variant& variant,
                          const std::vector<std::string_view>& keys, Progress* progress);

// Opens it for lookups, with all filters and indexes in memory.
rocksdb::Status OpenTree(const std::filesystem::path& directory, const Variant& variant,
                         std::unique_ptr<rocksdb::DB>* db);

// Opens it for iterators. RocksDB tells a policy nothing of databases that it opens to read only,
// so that range filters would not know that the order is bytewise.
rocksdb::Status OpenTreeForRanges(const std::filesystem::path& directory, const Variant& variant,
                                  std::unique_ptr<rocksdb::DB>* db);

// OK and Aborted stay what they are; any other status becomes an IOError whose message is all there
// is to say: "cannot " and the task, the status, and what may help.
rocksdb::Status Explained(const rocksdb::Status& status, const std::string& task);

}  // namespace rocksieve::tools
