// SPDX-License-Identifier: Apache-2.0
// The builder that RocksDB feeds with the keys of a table file, and the readers that it asks about
// keys.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <rocksdb/filter_policy.h>
#include <rocksieve/filter.h>

#include "lib/filter/builder.h"
#include "lib/hash/key_hash.h"
#include "plugin/auto/decider.h"
#include "plugin/auto/lookup_sampler.h"
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
  // `order`: range filters answer ranges if it is bytewise. Keys that come in another are noted.
  // `sampler`: what was asked of filters that know ranges; of others, nothing.
  BitsBuilder(const FilterSpec& spec, const rocksdb::FilterBuildingContext& context,
              std::shared_ptr<Counters> counters, std::shared_ptr<KeyOrder> order,
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
  // A range filter whose keys do not ascend bytewise, and all others of the policy, answer none.
  void CheckOrder();
  // Lets the decider choose the spec for the keys that are there.
  void Decide();

  BlockBuilder builder_;
  const bool verify_;
  const std::shared_ptr<KeyOrder> order_;
  bool is_bytewise_;
  const bool fit_allocator_;
  const int level_;
  rocksdb::Logger* const log_;
  const std::shared_ptr<Counters> counters_;
  const std::shared_ptr<const QuerySampler> sampler_;
  const std::unique_ptr<AutoDecider> decider_;
  bool no_filter_ = false;  // the last Finish() made none
  // Of filters of keys: the empty key or the prefix was added; it was the prefix; behind a key.
  bool has_empty_ = false, has_empty_prefix_ = false, prefix_follows_key_ = false;
};

// The reader that RocksDB asks about keys.

inline constexpr int kMostKeysOfBatch = 32;  // RocksDB's own batches are no larger

// Answers for the keys of a batch, in pieces of at most kMostKeysOfBatch keys. It calls see(hash)
// for each key of a piece in turn, and after(begin, count, hashes) when they are answered: where
// the piece begins, how many keys it has, and their hashes.
template <typename See, typename After>
void QueryBatch(const Filter& filter, int num_keys, rocksdb::Slice** keys, bool* may_match, See see,
                After after) {
  std::array<uint64_t, kMostKeysOfBatch> hashes;
  for (int begin = 0; begin < num_keys; begin += kMostKeysOfBatch) {
    const int count = std::min(kMostKeysOfBatch, num_keys - begin);
    for (int i = 0; i < count; i++) {
      const rocksdb::Slice& key = *keys[begin + i];
      hashes[i] = HashKey({key.data(), key.size()}, filter.salt());
      see(hashes[i]);
    }
    filter.MayContainHashes(hashes.data(), static_cast<size_t>(count), may_match + begin);
    after(begin, count, hashes.data());
  }
}

class BitsReader final : public rocksdb::FilterBitsReader {
 public:
  explicit BitsReader(std::unique_ptr<Filter> filter)
      : filter_(std::move(filter)), hasher_(filter_->salt()) {}
  bool MayMatch(const rocksdb::Slice& entry) override;
  void MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) override;

  const Filter& filter() const { return *filter_; }
  const KeyHasher& hasher() const { return hasher_; }

 private:
  const std::unique_ptr<Filter> filter_;
  const KeyHasher hasher_;
};

// For blocks that cannot be read: every key may be there.
class MayMatchReader final : public rocksdb::FilterBitsReader {
 public:
  using rocksdb::FilterBitsReader::MayMatch;
  bool MayMatch(const rocksdb::Slice&) override { return true; }
};

// The reader of a policy that listens to what is asked: rocksieve.auto.

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

// The reader of filters that RocksDB asks about keys and, unwittingly, about ranges: of range
// filters, and of those beside them in a tree of rocksieve.auto.

class RangeReader final : public rocksdb::FilterBitsReader {
 public:
  // `is_of_hashes`: the filter was built of the hashes of keys, and passes every range. Any does if
  // `order` is null, or no longer bytewise.
  RangeReader(std::unique_ptr<Filter> filter, bool is_of_hashes,
              std::shared_ptr<const KeyOrder> order, std::shared_ptr<QuerySampler> sampler)
      : filter_(std::move(filter)),
        is_of_hashes_(is_of_hashes),
        order_(std::move(order)),
        sampler_(std::move(sampler)) {}

  // An empty entry is the prefix of a range; so the empty key itself may always be there, and keys
  // of any range that begins with it.
  bool MayMatch(const rocksdb::Slice& entry) override;
  void MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) override;

 private:
  bool MayMatchRange(const rocksdb::Slice& prefix);

  BitsReader filter_;
  const bool is_of_hashes_;
  const std::shared_ptr<const KeyOrder> order_;
  const std::shared_ptr<QuerySampler> sampler_;
};

}  // namespace rocksieve
