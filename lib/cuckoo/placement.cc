// SPDX-License-Identifier: Apache-2.0
#include "lib/cuckoo/placement.h"

#include <algorithm>
#include <limits>

#include "lib/cuckoo/layout.h"

namespace rocksieve::cuckoo {
namespace {

// By value and in 32 bits: of std::min, and of 64-bit minima, compilers make branches, and these
// are coin tosses.
uint32_t Min(uint32_t a, uint32_t b) { return a < b ? a : b; }
uint32_t Max(uint32_t a, uint32_t b) { return a < b ? b : a; }

}  // namespace

bool Placement::Place(Span<const uint64_t> hashes, uint32_t slots) {
  // A shard that can be filled takes two or three moves per key, and hardly ever four; the bound
  // ends hopeless searches, which would go on until labels reach the number of slots.
  const size_t most_moves = 4 * hashes.size() + 100;
  // No label exceeds the number of moves.
  is_large_ = std::max<size_t>(most_moves, slots) >= UINT16_MAX;
  return is_large_ ? large_.Place(hashes, slots, most_moves)
                   : small_.Place(hashes, slots, most_moves);
}

template <typename Index>
bool Placement::Arrays<Index>::Place(Span<const uint64_t> hashes, uint32_t slots,
                                     size_t most_moves) {
  constexpr Index kNoKey = std::numeric_limits<Index>::max();
  ResizeScratch(slots, &key_in_slot);
  ResizeScratch(slots, &label);
  ResizeScratch(hashes.size(), &waiting);
  ResizeScratch(hashes.size(), &windows);
  std::fill(key_in_slot.begin(), key_in_slot.end(), kNoKey);
  std::fill(label.begin(), label.end(), Index{0});
  for (uint32_t i = 0; i < hashes.size(); i++) {
    const KeyBits bits = KeyBitsOf(hashes[i]);
    windows[i] = {static_cast<Index>(WindowAt(bits.first_position, slots)),
                  static_cast<Index>(WindowAt(bits.second_position, slots))};
    waiting[i] = static_cast<Index>(i);
  }

  Index* const keys = key_in_slot.data();
  Index* const labels = label.data();
  size_t moves = 0;
  for (size_t count = hashes.size(); count > 0;) {
    moves += count;
    if (moves > most_moves) return false;
    // Whoever must move on is written over those who have had their turn.
    size_t evicted = 0;
    for (size_t next = 0; next < count; next++) {
      const Index key = waiting[next];
      const uint32_t first = windows[key].first;
      const uint32_t second = windows[key].second;

      // Label and number of each candidate; the smallest wins, ties by the number. The windows may
      // overlap: then a slot is its own second choice, and its new label is merely smaller than it
      // could be.
      const uint32_t a = labels[first] * 4u;
      const uint32_t b = labels[first + 1] * 4u + 1;
      const uint32_t c = labels[second] * 4u + 2;
      const uint32_t d = labels[second + 1] * 4u + 3;
      const uint32_t first_best = Min(a, b), first_other = Max(a, b);
      const uint32_t second_best = Min(c, d), second_other = Max(c, d);
      const uint32_t smallest = Min(first_best, second_best);
      const uint32_t second_smallest =
          Min(Max(first_best, second_best), first_best < second_best ? first_other : second_other);
      const uint32_t slot = (smallest & 2 ? second : first) + (smallest & 1);
      labels[slot] = static_cast<Index>(second_smallest / 4 + 1);

      waiting[evicted] = keys[slot];
      evicted += keys[slot] != kNoKey;
      keys[slot] = key;
    }
    count = evicted;
  }
  return true;
}

}  // namespace rocksieve::cuckoo
