// SPDX-License-Identifier: Apache-2.0
// Builds the tree of the demonstration in a database, the same one for every filter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/status.h>

#include "plugin/database/tree.h"
#include "support/progress.h"

namespace rocksieve::tools {

// What is compared, one tree with no filter and with each of five, and the false-positive rates
// that the filters promise.
//
// What is known beforehand of the rate of one file's filter.
struct FileRate {
  double mean = 0;
  // Each filter has a rate of its own, since its keys come to lie at random: the variance of that.
  double variance = 0;
};

struct Variant {
  std::string name;                                     // for people
  std::string directory;                                // its database's, and its key in JSON
  std::shared_ptr<const rocksdb::FilterPolicy> policy;  // null for none
  // Of Bloom filters, whose keys come to lie in lines at random: the rate of a line with so many
  // keys. Null of others, which have the rate that they promise.
  size_t line_bytes = 0;
  std::function<double(double probes, int keys_in_line)> line_rate;
  std::shared_ptr<const rocksdb::SliceTransform> prefix_extractor{};  // null for none
};

// The same order as in the reports: none, built-in, ours. NotSupported if the plugin was not made
// for the RocksDB in this process.
rocksdb::Status MakeVariants(std::vector<Variant>* variants);

// Of the variants above.
inline constexpr size_t kBuiltinBloom = 1;  // what the others are measured against
inline constexpr size_t kFirstOfOurs = 3;

// The mean of the rates that the files' filters promise, each weighted with the lookups of the keys
// that RocksDB makes in the file if no file before has them: a small file of level 0 is asked as
// often as the whole last level, and so weighs as much. Zero if there are no lookups.
FileRate ExpectedRate(const Variant& variant, const Tree& tree, std::vector<std::string_view> keys);

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
