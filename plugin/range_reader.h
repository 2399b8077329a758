// SPDX-License-Identifier: Apache-2.0
// The reader of filters that RocksDB asks about keys and, unwittingly, about ranges: of range
// filters, and of those beside them in a tree of rocksieve.auto.
#pragma once

#include <memory>
#include <utility>

#include <rocksieve/filter.h>

#include "plugin/bits_reader.h"
#include "plugin/range/query_sampler.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {

class RangeReader final : public rocksdb::FilterBitsReader {
 public:
  // `is_of_hashes`: the filter was built of the hashes of keys, and passes every range. Without
  // `answers_ranges`, any filter does.
  RangeReader(std::unique_ptr<Filter> filter, bool is_of_hashes, bool answers_ranges,
              std::shared_ptr<QuerySampler> sampler)
      : filter_(std::move(filter)),
        is_of_hashes_(is_of_hashes),
        answers_ranges_(answers_ranges),
        sampler_(std::move(sampler)) {}

  // An empty entry is the prefix of a range; so the empty key itself may always be there, and keys
  // of any range that begins with it.
  bool MayMatch(const rocksdb::Slice& entry) override;
  void MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) override;

 private:
  bool MayMatchRange(const rocksdb::Slice& prefix);

  BitsReader filter_;
  const bool is_of_hashes_, answers_ranges_;
  const std::shared_ptr<QuerySampler> sampler_;
};

}  // namespace rocksieve
