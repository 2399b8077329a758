// SPDX-License-Identifier: Apache-2.0
#include "plugin/sampled_reader.h"

#include "lib/hash/key_hash.h"

namespace rocksieve {

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

}  // namespace rocksieve
