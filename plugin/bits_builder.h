// SPDX-License-Identifier: Apache-2.0
// The builder that RocksDB feeds with the keys of a table file.
#pragma once

#include <memory>

#include <rocksdb/filter_policy.h>

#include "lib/filter/builder.h"
#include "plugin/auto/decider.h"
#include "plugin/counters.h"
#include "plugin/range/extractors.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {

// One builder serves all partitions of a partitioned filter, one after another: Finish() starts
// afresh. Honours detect_filter_construct_corruption and optimize_filters_for_memory of the
// context.
class BitsBuilder final : public rocksdb::FilterBitsBuilder {
 public:
  // With a decider, which may be null, `spec` is only what is assumed until it decides.
  // `is_bytewise`: the order of keys is known to be; else range filters answer no ranges.
  // `sampler`: what was asked of filters that know ranges; of others, nothing.
  BitsBuilder(const FilterSpec& spec, const rocksdb::FilterBuildingContext& context,
              std::shared_ptr<Counters> counters, bool is_bytewise,
              std::shared_ptr<const QuerySampler> sampler,
              std::unique_ptr<AutoDecider> decider = nullptr);
  ~BitsBuilder() override;

  void AddKey(const rocksdb::Slice& key) override;
#if ROCKSIEVE_ROCKSDB >= 90600
  void AddKeyAndAlt(const rocksdb::Slice& key, const rocksdb::Slice& alt) override;
#endif
  size_t EstimateEntriesAdded() override;
  using rocksdb::FilterBitsBuilder::Finish;
  rocksdb::Slice Finish(std::unique_ptr<const char[]>* buf) override;
  rocksdb::Status MaybePostVerify(const rocksdb::Slice& filter_content) override;
  size_t ApproximateNumEntries(size_t bytes) override;
#if ROCKSIEVE_ROCKSDB >= 100900
  size_t CalculateSpace(size_t num_entries) override { return MostBytes(num_entries); }
  double EstimatedFpRate(size_t num_entries, size_t bytes) override;
#endif

  // No block of so many keys is larger. With optimize_filters_for_memory that is a third more than
  // the usual block, since allocators that round up by so much are followed.
  size_t MostBytes(size_t keys) const;

 private:
  // Lets the decider choose the spec for the keys that are there.
  void Decide();

  BlockBuilder builder_;
  const bool verify_;
  const bool is_bytewise_;
  const bool fit_allocator_;
  const int level_;
  rocksdb::Logger* const log_;
  const std::shared_ptr<Counters> counters_;
  const std::shared_ptr<const QuerySampler> sampler_;
  const std::unique_ptr<AutoDecider> decider_;
  bool no_filter_ = false;  // the last Finish() made none
  // Of filters of keys: the empty key or the prefix was added; and it was the prefix.
  bool has_empty_ = false, has_empty_prefix_ = false;
};

}  // namespace rocksieve
