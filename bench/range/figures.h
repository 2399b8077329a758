// SPDX-License-Identifier: Apache-2.0
// The tables of `./run bench ranges`; the keys and queries that every filter is measured with; and
// databases of several levels, and what queries read in them, by RocksDB's own counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/options.h>

#include "bench/program.h"
#include "integration/tree.h"

namespace rocksieve::bench {

struct RangeSettings {
  uint64_t entity_keys = 610'000;
  uint64_t path_keys = 200'000;
  std::string path_file;            // lines to take instead of made paths; "": none
  uint64_t range_queries = 20'000;  // of each kind, in a tree
  uint64_t gets = 20'000;           // of absent keys, and of present ones, in a tree
  uint64_t mix_keys = 300'000;
  uint64_t mix_queries = 60'000;  // of a mix of lookups and ranges
  std::string directory;          // where databases are built

  std::vector<uint64_t> uniform_keys = {100'000, 1'000'000};
  uint64_t timestamps = 100'000;
  uint64_t rate_queries = 500'000;  // of each kind, of a filter alone
  int build_rounds = 5, query_rounds = 60;
};

struct RangeRun : Report {
  using Report::Report;
  RangeSettings settings;
};

// All throw if the user interrupts them, and if a database cannot be written.

// Trees of several levels under each filter, with what a query reads. Rows: query, unit, and values
// by filter.
Table MeasureEntities(RangeRun* run);  // keys of an entity and a time
Table MeasurePaths(RangeRun* run);     // keys that are paths of files

// rocksieve.auto for lookups and ranges beside settings chosen by hand.
Table MeasureMixes(RangeRun* run);

// Filters without a database.
Table MeasureRangeRates(RangeRun* run);  // their size, and false positives by length
Table MeasureRangeTimes(RangeRun* run);  // their builds and queries beside a ribbon

// Of all keys that are not below `begin` and below `end`.
struct RangeQuery {
  std::string begin, end;
};

// How an iterator reads a range: with an upper bound, as it should; or seeking its first key
// without one; or from its last key on.
enum class Reading { kBounded, kUnbounded, kBackwards };

struct QueryKind {
  std::string name;
  Reading reading = Reading::kBounded;
  std::vector<RangeQuery> ranges;  // none if the keys afford none
};

struct Workload {
  std::vector<std::string> keys;         // distinct, in the order in which they are written
  std::vector<std::string> sorted;       // the same
  std::vector<QueryKind> kinds;          // the queries of a kind are distinct
  std::vector<std::string> absent_keys;  // present ones with one byte changed
};

// 8 bytes, in the order of the numbers.
std::string BigEndian(uint64_t number);

// Keys of 16 bytes: one of some entities, about 30 keys each, and one of 2^20 times. `queries` of
// each kind.
Workload EntityWorkload(uint64_t keys, uint64_t queries, uint64_t absent_keys);

// Keys that are text: prefixes, and what comes after a key in its directory.
Workload PathWorkload(std::vector<std::string> paths, uint64_t queries, uint64_t absent_keys);

// Paths as a system with packages and users has them: names repeat, directories hold few files or
// many, and are up to about 15 deep. Distinct; the same for the same seed.
std::vector<std::string> MadePaths(uint64_t count, uint64_t seed);

// Distinct lines of a file ("-": of the standard input), so many at random if there are more.
// Throws, with the remedy, if it cannot be read or has fewer than 1,000.
std::vector<std::string> PathsFrom(const std::string& file, uint64_t count);

// Every answer is compared with a sorted list of the keys. All throw if the user interrupts them,
// and if the database cannot be written.
class MeasuredTree {
 public:
  // `spec` is one of PolicySpec. prefix_bytes: of RocksDB's own prefix filters; 0: there are none.
  // `name`, for people. The workload and the run must live longer.
  MeasuredTree(const Workload& workload, const std::string& spec, size_t prefix_bytes,
               const std::string& name, RangeRun* run);
  ~MeasuredTree();

  // Writes it, anew if it is there, by the same policy, which keeps what it has heard. Every flush
  // and the compactions after it are waited for. A sixtieth of the keys stay in two files of
  // level 0.
  void Build();

  // Data blocks per query; null if there is no query.
  nlohmann::json AskRanges(const QueryKind& kind);
  // Data blocks per 1,000 lookups.
  nlohmann::json AskAbsentKeys();
  void AskPresentKeys(uint64_t count);
  // A share of lookups of absent keys, and else ranges of a kind, in turn: so many in all, of
  // queries that come again if there are fewer. Data blocks per 1,000 of them.
  double AskMix(const QueryKind& kind, double lookup_share, uint64_t count);

  double BitsPerKey() const;
  std::string FilesPerLevel() const;  // "2 3 11 4"

  // Answers. The report's failures have them in the end.
  uint64_t wrong() const { return wrong_; }

 private:
  void Flush(size_t begin, size_t end);
  void Begin(const std::string& step, uint64_t queries);
  void Note(bool right);
  void AskRange(const RangeQuery& range, Reading reading);
  void AskAbsentKey(const std::string& key);
  bool IsRight(const RangeQuery& range, Reading reading) const;

  const Workload& workload_;
  const bool has_rocksdb_prefixes_;
  const std::string name_, path_;
  RangeRun& run_;
  const rocksdb::Options options_;  // one policy for all that is built
  DbPtr db_;
  uint64_t wrong_ = 0;
};

}  // namespace rocksieve::bench
