// SPDX-License-Identifier: Apache-2.0
#include "plugin/bits_reader.h"

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

}  // namespace rocksieve
