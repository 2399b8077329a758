// SPDX-License-Identifier: Apache-2.0
// The keys of the demonstration, of which half are stored and the other half is missing, and
// lookups of all: of the present ones to see that none is lost, of the missing ones to see what
// they cost, and of both to see how long they take, so that noise hits all databases alike.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/status.h>

#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

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

struct PresentCheck {
  uint64_t keys = 0;
  uint64_t lost = 0;          // Get() did not find them
  uint64_t wrong_values = 0;  // Get() found something else than MakeValue()
  std::string first_bad_key;  // of either kind, as hexadecimal digits, at most 32 bytes of it
};

// Gets every key and compares its value. Advances the progress by one per key. Aborted if
// interrupted, or RocksDB's error.
rocksdb::Status CheckPresent(rocksdb::DB* db, const std::vector<std::string_view>& keys,
                             Progress* progress, PresentCheck* check);

// Counted by RocksDB's PerfContext of this thread, since it was last reset.
uint64_t DataBlockReads();

struct MissingCosts {
  uint64_t keys = 0;
  uint64_t found = 0;  // 0, or something is wrong
  uint64_t data_block_reads = 0;
  uint64_t filter_probes = 0;    // a lookup asks the filters of several files
  uint64_t false_positives = 0;  // probes that were answered with "may be there"
};

// Gets every key and counts with RocksDB's PerfContext of this thread. Progress and errors as
// above.
rocksdb::Status CountMissingCosts(rocksdb::DB* db, const std::vector<std::string_view>& keys,
                                  Progress* progress, MissingCosts* costs);

inline constexpr int kTimingRounds = 31;

// Microseconds per lookup: the median of the rounds, and the fastest and the slowest of them.
struct LookupTime {
  double median_us = 0;
  double fastest_us = 0;
  double slowest_us = 0;
};

struct LookupTimes {
  LookupTime missing;  // meaningless if there are no missing keys
  LookupTime present;
};

// Each round asks every database for the same keys, in random order; the next round for other keys,
// with another database first. Before the first round, one that does not count warms up.
// PerfContext is off. (*times)[i] belongs to databases[i]. Aborted if interrupted, or RocksDB's
// error.
rocksdb::Status TimeLookups(const std::vector<std::unique_ptr<rocksdb::DB>>& databases,
                            const Keys& keys, Progress* progress, std::vector<LookupTimes>* times);

// What iterators read in ranges that hold nothing, with filters that know ranges and without.
//
// Builds a tree of events of some entities in directories of their own below `directory`, once for
// each filter: of 100,000 events, or, if the demonstration has few `keys`, of ten for each of them,
// at least of 1,000. Asks for events right after an event of which there are none; also for ones
// that are there, of which none may be lost. Sets *result to what docs/json.md has under "ranges".
// Aborted if interrupted, or RocksDB's error.
rocksdb::Status MeasureRanges(const std::filesystem::path& directory, uint64_t keys,
                              Progress* progress, Json* result);

}  // namespace rocksieve::tools
