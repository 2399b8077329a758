#include "cuckoo/placement.h"

#include "cuckoo/layout.h"

namespace rocksieve::cuckoo {
namespace {

// By value and in 32 bits: of std::min, and of 64-bit minima, compilers make branches, and these
// are coin tosses.
uint32_t Min(uint32_t a, uint32_t b) { return a < b ? a : b; }
uint32_t Max(uint32_t a, uint32_t b) { return a < b ? b : a; }

}  // namespace

bool Placement::Place(std::span<const uint64_t> hashes, uint32_t slots) {
  // A shard that can be filled takes two moves per key, and hardly ever six; the bound ends
  // hopeless searches, which would go on until labels reach the number of slots.
  const size_t most_moves = 9 * hashes.size() + 100;
  key_in_slot_.assign(slots, kEmpty);
  label_.assign(slots, 0);
  queue_.resize(most_moves + 1);
  windows_.resize(hashes.size());
  for (uint32_t i = 0; i < hashes.size(); i++) {
    const KeyBits bits = KeyBitsOf(hashes[i]);
    windows_[i] = WindowAt(bits.first_position, slots) |
                  uint64_t{WindowAt(bits.second_position, slots)} << 32;
    queue_[i] = i;
  }

  uint32_t* const key_in_slot = key_in_slot_.data();
  uint32_t* const label = label_.data();
  uint32_t* const queue = queue_.data();
  size_t queue_end = hashes.size();
  for (size_t next = 0; next < queue_end; next++) {
    if (queue_end == most_moves) return false;
    const uint32_t key = queue[next];
    const uint32_t first = static_cast<uint32_t>(windows_[key]);
    const uint32_t second = static_cast<uint32_t>(windows_[key] >> 32);

    // Label and number of each candidate; the smallest wins, ties by the number. The windows may
    // overlap: then a slot is its own second choice, and its new label is merely smaller than it
    // could be.
    const uint32_t a = label[first] * 4;
    const uint32_t b = label[first + 1] * 4 + 1;
    const uint32_t c = label[second] * 4 + 2;
    const uint32_t d = label[second + 1] * 4 + 3;
    const uint32_t first_best = Min(a, b), first_other = Max(a, b);
    const uint32_t second_best = Min(c, d), second_other = Max(c, d);
    const uint32_t smallest = Min(first_best, second_best);
    const uint32_t second_smallest =
        Min(Max(first_best, second_best), first_best < second_best ? first_other : second_other);
    const uint32_t slot = (smallest & 2 ? second : first) + (smallest & 1);
    label[slot] = second_smallest / 4 + 1;

    queue[queue_end] = key_in_slot[slot];
    queue_end += key_in_slot[slot] != kEmpty;
    key_in_slot[slot] = key;
  }
  return true;
}

}  // namespace rocksieve::cuckoo
