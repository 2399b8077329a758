#include "lib/cuckoo/shard_sort.h"

#include <algorithm>

#include "lib/cuckoo/scratch.h"
#include "lib/format/coding.h"

namespace rocksieve::cuckoo {

void ShardSorter::Sort(std::span<uint64_t> hashes, uint64_t shards) {
  constexpr size_t kWorthwhile = 64;
  constexpr uint32_t kCrowded = 32;
  const size_t count = hashes.size();
  if (count < kWorthwhile) {
    std::sort(hashes.begin(), hashes.end());
    return;
  }
  // The low half of hash * shards is the position inside the shard, ascending like the hash.
  auto bucket = [&](uint64_t hash) { return MultiplyHigh64(hash * shards, count); };
  ResizeScratch(count, &bucket_end_);
  std::fill(bucket_end_.begin(), bucket_end_.end(), 0);
  for (uint64_t hash : hashes) bucket_end_[bucket(hash)]++;
  uint32_t sum = 0, largest = 0;
  for (uint32_t& end : bucket_end_) {
    largest = std::max(largest, end);
    end = sum += end;
  }
  if (largest > kCrowded) {
    std::sort(hashes.begin(), hashes.end());
    return;
  }
  ResizeScratch(count, &sorted_);
  for (uint64_t hash : hashes) sorted_[--bucket_end_[bucket(hash)]] = hash;
  // Insertion sort: every hash is at most a bucket away from its place.
  for (size_t i = 0; i < count; i++) {
    const uint64_t hash = sorted_[i];
    size_t to = i;
    for (; to > 0 && hashes[to - 1] > hash; to--) hashes[to] = hashes[to - 1];
    hashes[to] = hash;
  }
}

}  // namespace rocksieve::cuckoo
