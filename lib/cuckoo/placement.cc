#include "cuckoo/placement.h"

#include <utility>

#include "cuckoo/layout.h"

namespace rocksieve::cuckoo {

bool Placement::Place(std::span<const uint64_t> hashes, uint32_t slots) {
  key_in_slot_.assign(slots, kEmpty);
  label_.assign(slots, 0);
  windows_.resize(hashes.size());
  for (size_t i = 0; i < hashes.size(); i++) {
    const KeyBits bits = KeyBitsOf(hashes[i]);
    windows_[i] = WindowAt(bits.first_position, slots) |
                  uint64_t{WindowAt(bits.second_position, slots)} << 32;
  }

  // A shard that can be filled takes two moves per key, and hardly ever six; the bound ends hopeless
  // searches, which would go on until labels reach the number of slots.
  uint64_t moves_left = 8 * hashes.size() + 100;
  for (uint32_t start = 0; start < hashes.size(); start++) {
    for (uint32_t key = start; key != kEmpty;) {
      if (moves_left-- == 0) return false;
      const uint32_t first = static_cast<uint32_t>(windows_[key]);
      const uint32_t second = static_cast<uint32_t>(windows_[key] >> 32);
      // The windows may overlap: then a slot is its own second choice, and the label it gets is
      // merely smaller than it could be.
      const uint32_t candidates[4] = {first, first + 1, second, second + 1};
      uint32_t best = candidates[0];
      uint32_t best_label = label_[best];
      uint32_t second_label = UINT32_MAX;
      for (int i = 1; i < 4; i++) {
        const uint32_t label = label_[candidates[i]];
        if (label < best_label) {
          second_label = best_label;
          best_label = label;
          best = candidates[i];
        } else if (label < second_label) {
          second_label = label;
        }
      }
      label_[best] = second_label + 1;
      std::swap(key, key_in_slot_[best]);
    }
  }
  return true;
}

}  // namespace rocksieve::cuckoo
