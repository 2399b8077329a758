// SPDX-License-Identifier: Apache-2.0
// The filter of one table file, in memory: all its blocks, to be described and asked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/column_family.h"
#include "plugin/tables/decoded_filter.h"
#include "plugin/tables/table_file.h"

namespace rocksieve {

struct FilterBlockOfFile {
  FilterPartition partition;
  std::string bytes;
  DecodedFilter decoded;
  // Keys and prefixes in it: what a block of ours says, else its share of those of the file.
  uint64_t entries = 0;
  std::string damage;  // what is wrong with it; empty if nothing is
};

class FileFilter {
 public:
  // Always gives a filter, maybe one that lets everything pass: see problems().
  explicit FileFilter(const TableFile& file);

  FilterLayout layout() const { return places_.layout; }
  const std::string& stored_name() const { return places_.stored_name; }
  BlockPlace top() const { return places_.top; }
  const std::vector<std::unique_ptr<FilterBlockOfFile>>& blocks() const { return blocks_; }

  // Keys and prefixes that were added.
  uint64_t entries() const;
  // In the file, with the index of partitions; without what stands behind each block.
  uint64_t bytes() const { return bytes_; }

  // Of a missing key that is spread over the partitions like the keys are. 1 if there is no filter
  // that anybody reads, NaN if that cannot be said.
  double PredictedRate() const;

  // Whether a lookup of the key goes on to read the file. Asks as RocksDB does, whole key or
  // prefix.
  bool MayContain(const ColumnFamily& family, std::string_view key) const;

  // Whether iterators with an upper bound ask it about their ranges: the file and the column family
  // have the extractor of rocksieve.range, and bytewise order.
  bool IsAskedForRanges(const ColumnFamily& family) const;

  // Whether a seek to `begin` with the upper bound `end` goes on to read the file. REQUIRES:
  // IsAskedForRanges().
  bool MayContainRange(const ColumnFamily& family, std::string_view begin,
                       std::string_view end) const;

  // The probability of that. REQUIRES: IsAskedForRanges().
  double PredictedRangeRate(const ColumnFamily& family, const EmptyRange& range) const;

  // False if some of it is of an unknown policy, so that MayContain() is only an upper bound.
  bool CanBeAsked() const;

  // What is wrong, with file offsets; empty if all is well.
  const std::vector<std::string>& problems() const { return problems_; }

  // The block with the most keys; null if there is none.
  const FilterBlockOfFile* Largest() const;
  // Of that block: "rocksieve.bloom", "none", ...
  std::string Family() const;
  std::string Parameters() const;

 private:
  const FilterBlockOfFile& BlockFor(const ColumnFamily& family, std::string_view key) const;

  FilterPlaces places_;
  TableProperties properties_;
  uint64_t bytes_ = 0;
  bool index_damaged_ = false;
  std::vector<std::unique_ptr<FilterBlockOfFile>> blocks_;
  std::vector<std::string> problems_;
};

}  // namespace rocksieve
