// Sorts the hashes of one shard, which are evenly spread unless somebody chose them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rocksieve::cuckoo {

// One counting pass on the position inside the shard puts nearly every hash into a bucket of its
// own; what is left is a matter of neighbours. Some 6 ns per hash, where std::sort takes 30; where
// a bucket is crowded, std::sort does it all.
class ShardSorter {
 public:
  // Sorts in place, ascending. REQUIRES: ShardIndex(hash, shards) is the same for all.
  void Sort(std::span<uint64_t> hashes, uint64_t shards);

 private:
  std::vector<uint32_t> bucket_end_;
  std::vector<uint64_t> sorted_;
};

}  // namespace rocksieve::cuckoo
