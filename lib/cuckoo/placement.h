// Finds a slot for every key of one shard.
//
// Local search allocation (Khosla, "Balls into Bins Made Faster", 2013): every slot has a label, a
// lower bound for its distance from an empty slot. A key goes to its candidate slot with the
// smallest label, and the label becomes the second smallest plus one. A key that lay there must
// move on: it joins the end of a queue, in which all keys stand at first. (The paper moves it on at
// once; by queueing, the next key never waits for the last one, which is twice as fast.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rocksieve::cuckoo {

class Placement {
 public:
  static constexpr uint32_t kEmpty = UINT32_MAX;

  // Places the keys, which must be distinct, in their order. False if they do not fit.
  // REQUIRES: slots >= kWindowSlots; fewer than 2^26 keys.
  // Cost: some 10 ns per key, while the shard fits into the L1 cache.
  bool Place(std::span<const uint64_t> hashes, uint32_t slots);

  // The index of the key in each slot, or kEmpty; valid after a Place() that returned true.
  std::span<const uint32_t> key_in_slot() const { return key_in_slot_; }

 private:
  std::vector<uint32_t> key_in_slot_;
  std::vector<uint32_t> label_;
  std::vector<uint32_t> queue_;
  std::vector<uint64_t> windows_;  // both windows of each key, the first in the low half
};

}  // namespace rocksieve::cuckoo
