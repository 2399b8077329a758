// SPDX-License-Identifier: Apache-2.0
#include "lib/cuckoo/builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/cuckoo/layout.h"
#include "lib/format/bit_io.h"
#include "lib/format/coding.h"
#include "lib/format/payload.h"

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

namespace {

// Sorts the hashes of one shard, which are evenly spread unless somebody chose them. One counting
// pass on the position inside the shard puts nearly every hash into a bucket of its own; what is
// left is a matter of neighbours. Some 6 ns per hash, where std::sort takes 30; where a bucket is
// crowded, std::sort does it all.
class ShardSorter {
 public:
  // Sorts in place, ascending. REQUIRES: ShardIndex(hash, shards) is the same for all.
  void Sort(Span<uint64_t> hashes, uint64_t shards) {
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

 private:
  std::vector<uint32_t> bucket_end_;
  std::vector<uint64_t> sorted_;
};

}  // namespace

Payload Build(HashList hashes, const Plan& plan, size_t head_room, size_t tail_room) {
  Payload built;
  built.parameter = static_cast<uint8_t>(plan.fingerprint_bits);
  if (hashes.empty()) {
    built.data.reset(new char[head_room + tail_room]());
    return built;
  }

  PartitionedHashes parts = PartitionHashes(std::move(hashes), plan.shards, [&plan](uint64_t hash) {
    return static_cast<size_t>(ShardIndex(hash, plan.shards));
  });
  // Sorted sets: the order of keys must not depend on the order in which they came, and many equal
  // fingerprints could not be placed.
  std::vector<Span<const uint64_t>> shards(plan.shards);
  uint64_t planned_slots = 0;
  std::optional<ShardSorter> sorter(std::in_place);
  for (size_t i = 0; i < plan.shards; i++) {
    const Span<uint64_t> shard(parts.hashes.data() + parts.begin_of_part[i],
                               parts.hashes.data() + parts.begin_of_part[i + 1]);
    sorter->Sort(shard, plan.shards);
    shards[i] = {shard.begin(), std::unique(shard.begin(), shard.end())};
    planned_slots += SlotsForKeys(shards[i].size(), plan);
  }
  sorter.reset();  // its memory goes before more is needed

  const int bits = plan.fingerprint_bits;
  const auto first_wide_slot = static_cast<uint32_t>(
      std::llround((1 - plan.wide_share) * static_cast<double>(planned_slots)));
  const size_t directory_bytes = kPayloadHeadBytes + kOffsetBytes * (plan.shards + 1);
  const size_t planned_slot_bytes = SlotBit(planned_slots, bits, first_wide_slot) / 8 + 1;
  std::string slot_bytes;
  slot_bytes.reserve(planned_slot_bytes + planned_slot_bytes / 64 + 64);
  BitWriter writer(&slot_bytes);

  Placement placement;
  std::vector<uint32_t> offsets = {0};
  for (const auto& shard : shards) {
    const uint32_t first_slot = offsets.back();
    uint32_t slots = SlotsForKeys(shard.size(), plan);
    bool placed = shard.empty() || placement.Place(shard, slots);
    for (int retry = 1; !placed && retry <= kMaxRetries; retry++) {
      slots += (slots << retry) / 800 + 1;
      placed = placement.Place(shard, slots);
    }
    if (!placed) slots = 1;  // may contain every key
    offsets.push_back(first_slot + slots);
    for (uint32_t i = 0; i < slots; i++) {
      const uint32_t key = placed ? placement.KeyInSlot(i) : Placement::kEmpty;
      const int width = bits + (uint64_t{first_slot} + i >= first_wide_slot ? 1 : 0);
      writer.Put(key == Placement::kEmpty
                     ? 0
                     : StoredFingerprint(KeyBitsOf(shard[key]).fingerprint, width),
                 width);
    }
  }
  writer.Finish();
  parts = PartitionedHashes();  // its memory goes before more is needed

  built.size = directory_bytes + slot_bytes.size();
  built.data.reset(new char[head_room + built.size + tail_room]);
  char* const directory = built.data.get() + head_room;
  StoreLittleEndian32(directory, static_cast<uint32_t>(plan.shards));
  StoreLittleEndian32(directory + 4, first_wide_slot);
  for (size_t i = 0; i < offsets.size(); i++) {
    StoreLittleEndian32(directory + kPayloadHeadBytes + kOffsetBytes * i, offsets[i]);
  }
  slot_bytes.copy(directory + directory_bytes, slot_bytes.size());
  return built;
}

}  // namespace rocksieve::cuckoo
