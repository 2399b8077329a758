// SPDX-License-Identifier: Apache-2.0
#include "plugin/filter_bits.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/table.h>

#include "lib/filter/family.h"
#include "lib/hash/key_hash.h"
#include "plugin/range/extractors.h"

namespace rocksieve {
namespace {

// RocksDB loads a block together with its checksum and compression type.
constexpr size_t kBlockTrailerBytes = 5;

// The factor for BlockBuilder::Finish(), at least 1, with which the block, loaded into memory,
// fills what the allocator hands out for it, and no more. An allocator that rounds up by less than
// a 32nd (glibc's) is not followed, so that the bytes of filters do not depend on the state of the
// heap, nor one that wastes more than a third, which none in use does.
double FactorThatFillsAllocation(const BlockBuilder& builder) {
  const size_t requested = builder.FittingBlockBytes() + kBlockTrailerBytes;
  const std::unique_ptr<char[]> probe(new char[requested]);
  const size_t usable = malloc_usable_size(probe.get());
  if (usable < requested + requested / 32 || usable - usable / 4 > requested) return 1;
  return builder.FactorWithin(usable - kBlockTrailerBytes);
}

// What RocksDB itself writes where a filter would not help; every release answers "may match". No
// block at all would mean "no keys" to it.
FilterBlock AlwaysTrueBlock() {
  constexpr size_t kBytes = 6;
  FilterBlock block;
  block.data.reset(new char[kBytes]());
  block.size = kBytes;
  return block;
}

}  // namespace

BitsBuilder::BitsBuilder(const FilterSpec& spec, const rocksdb::FilterBuildingContext& context,
                         std::shared_ptr<Counters> counters, std::shared_ptr<KeyOrder> order,
                         std::shared_ptr<const QuerySampler> sampler,
                         std::unique_ptr<AutoDecider> decider)
    : builder_(spec),
      verify_(spec.verified || context.table_options.detect_filter_construct_corruption),
      order_(std::move(order)),
      is_bytewise_(order_->is_bytewise() && kRangesAreChecked),
      fit_allocator_(context.table_options.optimize_filters_for_memory),
      level_(context.level_at_creation),
      log_(context.info_log),
      counters_(std::move(counters)),
      sampler_(std::move(sampler)),
      decider_(std::move(decider)) {
  if (verify_) builder_.KeepKeysForVerification();
  if (context.table_options.partition_filters) builder_.SetIsPartition();
  if (!is_bytewise_) builder_.SetAnswersNoRanges();
  RangeExtractor::FilterIsBuilt();
  counters_->AddLog(log_);
}

BitsBuilder::~BitsBuilder() { counters_->RemoveLog(log_); }

void BitsBuilder::AddKey(const rocksdb::Slice& key) {
  if (builder_.is_keyed()) {
    RangeExtractor::FilterIsBuilt();
    // The empty key, or the prefix that RangeExtractor gives to all keys. Readers refuse neither.
    // As keys ascend, it is the prefix if it comes behind another key, or again.
    if (key.size() == 0) {
      prefix_follows_key_ = prefix_follows_key_ || builder_.key_count() > 0;
      has_empty_prefix_ = has_empty_prefix_ || has_empty_ || prefix_follows_key_;
      has_empty_ = true;
      return;
    }
  }
  builder_.AddKey({key.data(), key.size()});
  if (decider_ != nullptr) decider_->AddKey(key);
}

#if ROCKSIEVE_ROCKSDB >= 90600
void BitsBuilder::AddKeyAndAlt(const rocksdb::Slice& key, const rocksdb::Slice& alt) {
  if (builder_.is_keyed() && (key.size() == 0 || alt.size() == 0)) {
    AddKey(key);
    return AddKey(alt);
  }
  builder_.AddKeyAndAlt({key.data(), key.size()}, {alt.data(), alt.size()});
  if (decider_ != nullptr) decider_->AddKey(key);
}
#endif

size_t BitsBuilder::EstimateEntriesAdded() { return builder_.key_count(); }

void BitsBuilder::CheckOrder() {
  // Beside other prefixes than the empty one, keys and prefixes ascend in no order.
  if (!is_bytewise_ || !prefix_follows_key_ || builder_.keys_ascend()) return;
  order_->Note(false);
  is_bytewise_ = false;
  builder_.SetAnswersNoRanges();
  if (log_ != nullptr) {
    rocksdb::Warn(log_,
                  "rocksieve: keys come in another order than the bytewise one: filters of this "
                  "policy answer for keys from now on, not for ranges. Give column families with "
                  "another comparator a policy of their own");
  }
}

void BitsBuilder::Decide() {
  FilterSpec spec = builder_.spec();
  range::QueryMix mix = sampler_->Mix();
  // Half a query of a kind of which none was heard: Jeffreys' prior of a share.
  if (mix.count() > 0) mix.least_share = 0.5 / static_cast<double>(mix.count() + 1);
  // Iterators ask filters only if RangeExtractor is there.
  const bool has_ranges = is_bytewise_ && has_empty_prefix_;
  no_filter_ = !decider_->Decide(builder_.key_count(), has_ranges ? &mix : nullptr, &spec);
  if (no_filter_) return;
  builder_.SetSpec(spec);
  builder_.SetQueryMix(mix);
  // Readers of another policy may ask a filter of hashes about the empty key and prefix.
  const bool is_of_hashes = FindFamily(spec.family)->build_of_keys == nullptr;
  if (builder_.is_keyed() && is_of_hashes && has_empty_) builder_.AddKey("");
}

rocksdb::Slice BitsBuilder::Finish(std::unique_ptr<const char[]>* buf) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const uint64_t keys = builder_.key_count();
  no_filter_ = false;
  CheckOrder();
  if (decider_ != nullptr) Decide();
  // Of keys alone that were not added: whole_key_filtering is off, or the one key is empty.
  no_filter_ = no_filter_ || (builder_.is_keyed() && keys == 0);
  // By the prefix, its extractor is RangeExtractor, which writes its name into the file next.
  if (has_empty_prefix_ && is_bytewise_) RangeExtractor::FilterWasFinished();
  if (builder_.is_keyed() && decider_ == nullptr) builder_.SetQueryMix(sampler_->Mix());
  const double factor = fit_allocator_ ? FactorThatFillsAllocation(builder_) : 1;
  FilterBlock block = builder_.Finish(factor);
  const std::chrono::duration<double> time = Clock::now() - start;
  if (no_filter_) block = AlwaysTrueBlock();
  const std::string_view family = no_filter_ ? "none" : FindFamily(builder_.spec().family)->name;
  counters_->CountBuilt(
      {std::string(family), level_, /*filters=*/1, keys, block.size, time.count()},
      block.saturated_fraction);
  if (decider_ != nullptr) decider_->Built(keys, block.size);
  *buf = std::move(block.data);
  return rocksdb::Slice(buf->get(), block.size);
}

rocksdb::Status BitsBuilder::MaybePostVerify(const rocksdb::Slice& filter_content) {
  if (!verify_ || no_filter_) return rocksdb::Status::OK();
  const std::string error = builder_.Verify({filter_content.data(), filter_content.size()});
  if (error.empty()) return rocksdb::Status::OK();
  return rocksdb::Status::Corruption("rocksieve: " + error,
                                     "writing the file again may help; if not, check the memory");
}

size_t BitsBuilder::ApproximateNumEntries(size_t bytes) {
  // At least one: RocksDB would search on in a loop.
  return std::max<size_t>(1, EstimateKeyCount(builder_.spec(), bytes));
}

size_t BitsBuilder::MostBytes(size_t keys) const {
  const size_t most =
      decider_ != nullptr ? decider_->MostBlockBytes(keys) : MostBlockBytes(builder_.spec(), keys);
  return fit_allocator_ ? most + most / 3 : most;
}

#if ROCKSIEVE_ROCKSDB >= 100900
double BitsBuilder::EstimatedFpRate(size_t num_entries, size_t bytes) {
  return EstimateRate(builder_.spec(), num_entries, bytes);
}
#endif

namespace {

// Apart, since it needs so many registers that short keys would be felt to save them.
[[gnu::noinline]] bool MayContainOtherKey(const Filter& filter, std::string_view key) {
  return filter.MayContainHash(HashKey(key, filter.salt()));
}

}  // namespace

bool BitsReader::MayMatch(const rocksdb::Slice& entry) {
  // As filter_->MayContain(), with the hash function inlined: the whole takes a few nanoseconds.
  const std::string_view key(entry.data(), entry.size());
  if (!KeyHasher::IsShort(key.size())) return MayContainOtherKey(*filter_, key);
  return filter_->MayContainHash(hasher_.HashShort(key));
}

void BitsReader::MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) {
  QueryBatch(
      *filter_, num_keys, keys, may_match, [](uint64_t) {}, [](int, int, const uint64_t*) {});
}

namespace {

// Apart, and with the query as the last call of all that is not listened to, so that this costs
// next to nothing.
[[gnu::noinline]] bool QueryAndHear(const Filter& filter, LookupSampler* sampler,
                                    std::string_view key, uint64_t hash) {
  const bool passed = filter.MayContainHash(hash);
  sampler->Hear(key, hash, passed);
  return passed;
}

// Apart, as BitsReader's.
[[gnu::noinline]] bool QueryOtherKey(const Filter& filter, LookupSampler* sampler,
                                     std::string_view key) {
  const uint64_t hash = HashKey(key, filter.salt());
  if (LookupSampler::Listens(hash)) return QueryAndHear(filter, sampler, key, hash);
  return filter.MayContainHash(hash);
}

}  // namespace

bool SampledReader::MayMatch(const rocksdb::Slice& entry) {
  const std::string_view key(entry.data(), entry.size());
  const Filter& filter = reader_.filter();
  if (!KeyHasher::IsShort(key.size())) return QueryOtherKey(filter, sampler_.get(), key);
  const uint64_t hash = reader_.hasher().HashShort(key);
  if (LookupSampler::Listens(hash)) return QueryAndHear(filter, sampler_.get(), key, hash);
  return filter.MayContainHash(hash);
}

void SampledReader::MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) {
  LookupSampler::HeardKeys heard;
  QueryBatch(
      reader_.filter(), num_keys, keys, may_match, [&](uint64_t hash) { heard.Add(hash); },
      [&](int begin, int count, const uint64_t* hashes) {
        if (__builtin_expect(heard.any(), 0)) {
          sampler_->HearBatch(heard, keys + begin, hashes, may_match + begin, count);
        }
        heard = {};
      });
}

namespace {

bool MayAfter(RangeEvent event) {
  RangeCounts::Count(event);
  return true;
}

}  // namespace

bool RangeReader::MayMatch(const rocksdb::Slice& entry) {
  if (entry.size() == 0) return MayMatchRange(entry);
  sampler_->CountLookup();
  if (is_of_hashes_) return filter_.MayMatch(entry);
  return filter_.filter().MayContain({entry.data(), entry.size()});
}

void RangeReader::MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) {
  const bool has_prefix = std::any_of(keys, keys + num_keys,
                                      [](const rocksdb::Slice* key) { return key->size() == 0; });
  if (has_prefix || !is_of_hashes_) {
    for (int i = 0; i < num_keys; i++) may_match[i] = MayMatch(*keys[i]);
    return;
  }
  for (int i = 0; i < num_keys; i++) sampler_->CountLookup();
  filter_.MayMatch(num_keys, keys, may_match);
}

bool RangeReader::MayMatchRange(const rocksdb::Slice& prefix) {
  std::string_view begin, end;
  const bool is_known = HeardBounds::OfThisThread().Take(prefix, &begin, &end);
  if (order_ == nullptr || !order_->is_bytewise()) return MayAfter(RangeEvent::kOtherOrder);
  if (!is_known) return MayAfter(RangeEvent::kNotProven);
  sampler_->CountRange(begin, end);
  // No filter knows whether the empty key is there: builders take it for the prefix.
  if (begin.empty() || filter_.filter().MayContainRange(begin, end)) {
    return MayAfter(begin < end ? RangeEvent::kPositive : RangeEvent::kBeginsAtEnd);
  }
  RangeCounts::Count(RangeEvent::kNegative);
  return false;
}

}  // namespace rocksieve
