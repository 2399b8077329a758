// SPDX-License-Identifier: Apache-2.0
// The demonstration: one tree of real keys, built with each filter, and what lookups cost.
#pragma once

#include <cstdint>
#include <filesystem>
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
#include "support/table.h"

namespace rocksieve::tools {

// The keys of the demonstration, of which half are stored and the other half is missing, and
// lookups of all: of the present ones to see that none is lost, of the missing ones to see what
// they cost, and of both to see how long they take, so that noise hits all databases alike.

// Keys that are missing for real are of the same shape as those that are present, so both are drawn
// from the same lines. The views point into the text, hence no copies.
struct Keys {
  Keys() = default;
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  uint64_t distinct() const { return present.size() + missing.size(); }

  std::string text;
  uint64_t lines = 0;                     // as read, with empty and repeated ones
  std::vector<std::string_view> present;  // in random order; one more than missing if odd
  std::vector<std::string_view> missing;  // in random order
};

// Reads one key per line from a file, or from the standard input if `source` is "-". A key is every
// byte between two newlines (of a file with DOS line ends, the carriage return too); empty lines
// and repetitions are dropped. The same set of keys is always split and ordered in the same way.
// Memory: the file, and 16 bytes per line. InvalidArgument if there is no key, or no such file.
rocksdb::Status LoadKeys(const std::string& source, Keys* keys);

// Values are a function of the key's number, so that none need be kept.
inline constexpr uint64_t kSmallestValueBytes = 100;
inline constexpr uint64_t kLargestValueBytes = 400;

// Sets *value to pseudo-random bytes, as many as the range above allows; neither bytes nor length
// can be told from another number's.
void MakeValue(uint64_t number, std::string* value);

// Gets every key and compares its value: sets *counted to how many "lost" were not found, how many
// have "wrong" values, and the "first_bad" key of either kind, as hexadecimal digits. Advances the
// progress by one per key. Aborted if interrupted, or RocksDB's error.
rocksdb::Status CheckPresent(rocksdb::DB* db, const std::vector<std::string_view>& keys,
                             Progress* progress, Json* counted);

// Counted by RocksDB's PerfContext of this thread, since it was last reset.
uint64_t DataBlockReads();

// Gets every key and counts, with that, what docs/json.md has: "data_block_reads", "filter_probes"
// (a lookup asks the filters of several files), "false_positives" among them, and
// "missing_keys_found": 0, or something is wrong. Progress and errors as above.
rocksdb::Status CountMissingCosts(rocksdb::DB* db, const std::vector<std::string_view>& keys,
                                  Progress* progress, Json* counted);

// Sets "missing_lookup_us" (null if no key is missing) and "present_lookup_us" of (*results)[i],
// which belongs to databases[i]: the median, fastest and slowest of 31 rounds. Each round asks every
// database for the same keys, in random order; the next one for other keys, with another database
// first. A first one, which does not count, warms up. PerfContext is off. Aborted if interrupted, or
// RocksDB's error.
rocksdb::Status TimeLookups(const std::vector<std::unique_ptr<rocksdb::DB>>& databases,
                            const Keys& keys, Progress* progress, std::vector<Json>* results);

// What iterators read in ranges that hold nothing, with filters that know ranges and without.
//
// Builds a tree of events of some entities in directories of their own below `directory`, once for
// each filter: of 100,000 events, or, if the demonstration has few `keys`, of ten for each of them,
// at least of 1,000. Asks for events right after an event of which there are none; also for ones
// that are there, of which none may be lost. Sets *result to what docs/json.md has under "ranges".
// Aborted if interrupted, or RocksDB's error.
rocksdb::Status MeasureRanges(const std::filesystem::path& directory, uint64_t keys,
                              Progress* progress, Json* result);

// Builds the tree of the demonstration in a database, the same one for every filter.

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
FileRate ExpectedRate(const Tree& tree, std::vector<std::string_view> keys);

// Makes a database in a new directory of that name, whose levels are random parts of the keys, each
// over the whole key range, as a tree has them that has grown: most of the keys in the last level,
// fewer in the ones before, some in flushed files that overlap. The key with number i has the value
// MakeValue(i). With few keys there are fewer levels and files.
// Advances the progress by one per key. Aborted if interrupted, or RocksDB's error.
rocksdb::Status BuildTree(const std::filesystem::path& directory, const Variant& variant,
                          const std::vector<std::string_view>& keys, Progress* progress);

// Opens it, with all filters and indexes in memory: to read only, but for ranges. RocksDB tells a
// policy nothing of databases that it opens to read only, so that range filters would not know that
// the order is bytewise.
rocksdb::Status OpenTree(const std::filesystem::path& directory, const Variant& variant,
                         bool for_ranges, std::unique_ptr<rocksdb::DB>* db);

// OK and Aborted stay what they are; any other status becomes an IOError whose message is all there
// is to say: "cannot " and the task, the status, and what may help.
rocksdb::Status Explained(const rocksdb::Status& status, const std::string& task);

struct DemoOptions {
  std::string keys = "/usr/share/dict/american-english-insane";  // a file, or "-"
  std::string database_directory;  // kept; if empty, a temporary one that is removed
};

// The document of docs/json.md. Writes nothing but the directory, and removes it on every error.
// Aborted if interrupted. A check that fails (a lost key, say) is no error: "ok" is false then.
rocksdb::Status RunDemo(const DemoOptions& options, Progress* progress, Json* result);

}  // namespace rocksieve::tools
