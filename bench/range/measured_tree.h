// SPDX-License-Identifier: Apache-2.0
// A database of several levels, and what queries read in it, by RocksDB's own counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <rocksdb/options.h>

#include "bench/range/figures.h"
#include "bench/range/workload.h"
#include "integration/tree.h"

namespace rocksieve::bench {

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
