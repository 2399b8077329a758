#include "bits_reader.h"

#include <algorithm>
#include <array>

namespace rocksieve {

bool BitsReader::MayMatch(const rocksdb::Slice& entry) {
  return filter_->MayContain({entry.data(), entry.size()});
}

void BitsReader::MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) {
  constexpr int kBatch = 32;  // RocksDB's own batches are no larger
  std::array<uint64_t, kBatch> hashes;
  for (int begin = 0; begin < num_keys; begin += kBatch) {
    const int count = std::min(kBatch, num_keys - begin);
    for (int i = 0; i < count; i++) {
      const rocksdb::Slice& key = *keys[begin + i];
      hashes[i] = filter_->KeyHash({key.data(), key.size()});
    }
    filter_->MayContainHashes(hashes.data(), static_cast<size_t>(count), may_match + begin);
  }
}

}  // namespace rocksieve
