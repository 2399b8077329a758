// SPDX-License-Identifier: Apache-2.0
#include "plugin/bits_reader.h"

#include <algorithm>
#include <string_view>

#include "lib/hash/key_hash.h"
#include "plugin/range/extractors.h"

namespace rocksieve {
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
  if (!answers_ranges_) return MayAfter(RangeEvent::kOtherOrder);
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
