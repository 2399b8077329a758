// SPDX-License-Identifier: Apache-2.0
// The buckets of cuckoo filters: which two a fingerprint has, and how room is found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "lib/format/coding.h"
#include "lib/hash/mix.h"

namespace rocksieve {

inline constexpr int kSlotsPerBucket = 4;

// The other bucket of a fingerprint.
//
// Whoever finds a fingerprint in a bucket must be able to tell the other bucket without the key. So
// the sum of both, modulo the number of buckets, is a hash of the fingerprint alone:
//   alternate(b) = (g - b) mod buckets,  alternate(alternate(b)) = (g - (g - b)) mod buckets = b.
// That holds for any number of buckets, where the XOR of Fan et al. (2014) needs a power of two.
// The two are the same bucket where 2 b = g mod buckets, for one key in `buckets`.
//
// REQUIRES: bucket < buckets.
inline uint64_t AlternateCuckooBucket(uint64_t bucket, uint32_t fingerprint, uint64_t buckets) {
  const uint64_t sum = MultiplyHigh64(SplitMix64(0, fingerprint), buckets);
  return sum >= bucket ? sum - bucket : sum + buckets - bucket;
}

struct SlotPlace {
  uint64_t bucket;
  int slot;
};

inline constexpr size_t kMostBucketsSearched = 2048;

// Room in a cuckoo table, by moving others: the shortest chain of moves is searched first, and only
// made when it ends in an empty slot. So nothing has to be undone when there is none, and at no
// time is an entry outside of the table.
//
// Breadth-first search: the two buckets of the new entry, the buckets to which their entries could
// go, and so on; the first empty slot ends it. A chain never visits a bucket twice, since the move
// into it could then be the move out of it. At a load of 0.95 it looks at some ten buckets; it
// gives up after kMostBucketsSearched. Source: X. Li, D. Andersen, M. Kaminsky, M. Freedman,
// "Algorithmic improvements for fast concurrent cuckoo hashing", EuroSys 2014, section 4.3.
//
// Frees a slot in bucket `first` or `second`, both of which are full, and says which; or does
// nothing.
//   int free_slot(bucket)                    an empty slot of it, or -1
//   uint64_t alternate(bucket, slot)         where else the entry in this slot may stand
//   void move(SlotPlace from, SlotPlace to)  copies an entry into an empty slot; the slot that it
//                                            came from is then overwritten by the next
template <typename FreeSlot, typename Alternate, typename Move>
std::optional<SlotPlace> MakeRoom(uint64_t first, uint64_t second, FreeSlot free_slot,
                                  Alternate alternate, Move move) {
  struct Node {
    uint64_t bucket;
    int16_t parent;       // -1: one of the two
    int16_t parent_slot;  // whose entry would come here
  };
  static_assert(kMostBucketsSearched <= INT16_MAX);
  std::array<Node, kMostBucketsSearched> nodes;
  size_t count = 0;
  nodes[count++] = {first, -1, 0};
  if (second != first) nodes[count++] = {second, -1, 0};

  for (size_t at = 0; at < count; at++) {
    const uint64_t bucket = nodes[at].bucket;
    for (int slot = 0; slot < kSlotsPerBucket; slot++) {
      const uint64_t next = alternate(bucket, slot);
      bool visited = next == first || next == second;
      for (int i = static_cast<int>(at); i >= 0 && !visited; i = nodes[i].parent) {
        visited = nodes[i].bucket == next;
      }
      if (visited) continue;
      SlotPlace to{next, free_slot(next)};
      if (to.slot < 0) {
        if (count == nodes.size()) return std::nullopt;
        nodes[count++] = {next, static_cast<int16_t>(at), static_cast<int16_t>(slot)};
        continue;
      }
      SlotPlace from{bucket, slot};
      for (int i = static_cast<int>(at);; i = nodes[i].parent) {
        move(from, to);
        to = from;
        if (nodes[i].parent < 0) return to;
        from = {nodes[nodes[i].parent].bucket, nodes[i].parent_slot};
      }
    }
  }
  return std::nullopt;
}

}  // namespace rocksieve
