// SPDX-License-Identifier: Apache-2.0
// The hashes that a builder has collected, and their division into parts that fit a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace rocksieve {

// A deque grows without ever holding two copies of what it has.
using HashList = std::deque<uint64_t>;

struct PartitionedHashes {
  std::vector<uint64_t> hashes;
  std::vector<size_t> begin_of_part;  // one more than there are parts; the last is hashes.size()
};

// Counting sort by part_of(hash), which must be below `parts`; the order inside a part is kept.
// Two passes; 8 bytes per hash and 8 per part. The list is gone afterwards, so that its memory can
// be used for what comes next: give it away with std::move().
template <typename PartOf>
PartitionedHashes PartitionHashes(HashList list, size_t parts, PartOf part_of) {
  PartitionedHashes result;
  std::vector<size_t>& begin = result.begin_of_part;
  begin.assign(parts + 1, 0);
  for (uint64_t hash : list) begin[part_of(hash) + 1]++;
  for (size_t part = 0; part < parts; part++) begin[part + 1] += begin[part];
  result.hashes.resize(list.size());
  std::vector<size_t> next(begin.begin(), begin.end() - 1);
  for (uint64_t hash : list) result.hashes[next[part_of(hash)]++] = hash;
  return result;
}

}  // namespace rocksieve
