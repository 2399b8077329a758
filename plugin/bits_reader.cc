// SPDX-License-Identifier: Apache-2.0
#include "plugin/bits_reader.h"

#include <algorithm>
#include <array>

#include "lib/hash/key_hash.h"

namespace rocksieve {
namespace {

// Apart, since it needs so many registers that short keys would be felt to save them.
[[gnu::noinline]] bool MayContainLongKey(const Filter& filter, std::string_view key) {
  return filter.MayContainHash(HashKey(key, filter.salt()));
}

}  // namespace

bool BitsReader::MayMatch(const rocksdb::Slice& entry) {
  // As filter_->MayContain(), with the hash function inlined: the whole takes a few nanoseconds.
  const std::string_view key(entry.data(), entry.size());
  if (key.size() > kMaxShortKeyBytes) return MayContainLongKey(*filter_, key);
  return filter_->MayContainHash(HashKey(key, filter_->salt()));
}

void BitsReader::MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) {
  constexpr int kBatch = 32;  // RocksDB's own batches are no larger
  std::array<uint64_t, kBatch> hashes;
  for (int begin = 0; begin < num_keys; begin += kBatch) {
    const int count = std::min(kBatch, num_keys - begin);
    for (int i = 0; i < count; i++) {
      const rocksdb::Slice& key = *keys[begin + i];
      hashes[i] = HashKey({key.data(), key.size()}, filter_->salt());
    }
    filter_->MayContainHashes(hashes.data(), static_cast<size_t>(count), may_match + begin);
  }
}

}  // namespace rocksieve
