// SPDX-License-Identifier: Apache-2.0
// Builds the payload of a cuckoo filter block, and finds a slot for every key of one shard.
//
// Local search allocation (Khosla, "Balls into Bins Made Faster", 2013): every slot has a label, a
// lower bound for its distance from an empty slot. A key goes to its candidate slot with the
// smallest label, and the label becomes the second smallest plus one. A key that lay there must
// move on: it waits for the next round, as all keys do for the first one. (The paper moves it on at
// once; in rounds, the next key never waits for the last one, which is twice as fast.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/cuckoo/layout.h"
#include "lib/format/payload.h"
#include "lib/hash/hash_set.h"

namespace rocksieve::cuckoo {

// Resizes a vector whose contents need not survive: a longer one never takes the memory of two, as
// it would with resize(), and has some room for shards that are a little larger still.
template <typename T>
void ResizeScratch(size_t size, std::vector<T>* scratch) {
  if (scratch->capacity() < size) {
    *scratch = {};
    scratch->reserve(size + size / 16);
  }
  scratch->resize(size);
}

class Placement {
 public:
  static constexpr uint32_t kEmpty = UINT32_MAX;

  // Places the keys, which must be distinct, in their order. False if they do not fit.
  // REQUIRES: slots >= kWindowSlots; fewer than 2^26 keys.
  // Cost: some 10 ns per key, while the shard fits into the inner caches; 10 bytes per key, in
  // shards that chosen keys have made large 20.
  bool Place(Span<const uint64_t> hashes, uint32_t slots);

  // The index of the key in a slot, or kEmpty; valid after a Place() that returned true.
  uint32_t KeyInSlot(uint32_t slot) const {
    if (is_large_) return large_.key_in_slot[slot];
    const uint16_t key = small_.key_in_slot[slot];
    return key == UINT16_MAX ? kEmpty : key;
  }

 private:
  // Index numbers keys and slots; its largest value stands for "no key".
  template <typename Index>
  struct Arrays {
    struct Windows {
      Index first, second;
    };
    std::vector<Index> key_in_slot, label, waiting;
    std::vector<Windows> windows;  // of each key

    bool Place(Span<const uint64_t> hashes, uint32_t slots, size_t most_moves);
  };

  bool is_large_ = false;
  Arrays<uint16_t> small_;
  Arrays<uint32_t> large_;
};

// Depends on the set of hashes and the plan only. Never fails: a shard that cannot be filled grows
// by 1/4, 1/2, 1 .. percent and tries again, and after kMaxRetries is stored as "may contain every
// key". Memory: 8 bytes per key.
Payload Build(HashList hashes, const Plan& plan, size_t head_room, size_t tail_room);

// The last retry has six times the slots that a shard should need.
inline constexpr int kMaxRetries = 10;

}  // namespace rocksieve::cuckoo
