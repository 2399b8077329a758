// SPDX-License-Identifier: Apache-2.0
// The reader of a policy that listens to what is asked: rocksieve.auto.
#pragma once

#include <memory>
#include <utility>

#include <rocksieve/filter.h>

#include "plugin/auto/lookup_sampler.h"
#include "plugin/bits_reader.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {

class SampledReader final : public rocksdb::FilterBitsReader {
 public:
  SampledReader(std::unique_ptr<Filter> filter, std::shared_ptr<LookupSampler> sampler)
      : reader_(std::move(filter)), sampler_(std::move(sampler)) {}
  bool MayMatch(const rocksdb::Slice& entry) override;
  void MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) override;

 private:
  BitsReader reader_;
  const std::shared_ptr<LookupSampler> sampler_;
};

}  // namespace rocksieve
