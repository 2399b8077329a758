// SPDX-License-Identifier: Apache-2.0
// The reader of range filters that RocksDB asks about keys and, unwittingly, about ranges.
#pragma once

#include <memory>
#include <utility>

#include <rocksieve/filter.h>

#include "plugin/range/query_sampler.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {

class RangeReader final : public rocksdb::FilterBitsReader {
 public:
  // Without `answers_ranges`, every range may have keys.
  RangeReader(std::unique_ptr<Filter> filter, bool answers_ranges,
              std::shared_ptr<QuerySampler> sampler)
      : filter_(std::move(filter)), answers_ranges_(answers_ranges), sampler_(std::move(sampler)) {}

  // An empty entry is the prefix of a range; so the empty key itself may always be there.
  using rocksdb::FilterBitsReader::MayMatch;
  bool MayMatch(const rocksdb::Slice& entry) override;

 private:
  const std::unique_ptr<Filter> filter_;
  const bool answers_ranges_;
  const std::shared_ptr<QuerySampler> sampler_;
};

}  // namespace rocksieve
