#include "cuckoo/builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "cuckoo/layout.h"
#include "cuckoo/placement.h"

namespace rocksieve::cuckoo {
namespace {

uint32_t SlotsForKeys(uint64_t keys) {
  if (keys == 0) return 0;
  return std::max<uint32_t>(kWindowSlots, static_cast<uint32_t>(std::ceil(keys / kLoad)));
}

// Sorts and removes duplicates: many equal fingerprints could not be placed.
std::span<const uint64_t> SortedSet(std::span<uint64_t> hashes) {
  std::sort(hashes.begin(), hashes.end());
  return {hashes.begin(), std::unique(hashes.begin(), hashes.end())};
}

// A growing array of bit-packed slots behind a head whose size is known.
class SlotWriter {
 public:
  SlotWriter(size_t bytes_before, size_t expected_slot_bytes, size_t bytes_after)
      : before_(bytes_before), after_(bytes_after) {
    Reserve(expected_slot_bytes);
  }

  void Write(uint64_t at_bit, uint64_t value, int bits) {
    const size_t byte = at_bit / 8;
    if (byte + 16 > capacity_) Reserve(std::max(byte + 16, capacity_ + capacity_ / 4));
    char* to = data_.get() + before_ + byte;
    const unsigned __int128 shifted = static_cast<unsigned __int128>(value) << (at_bit % 8);
    StoreLittleEndian64(to, LoadLittleEndian64(to) | static_cast<uint64_t>(shifted));
    if (at_bit % 8 + bits > 64) to[8] = static_cast<char>(to[8] | static_cast<char>(shifted >> 64));
  }

  char* head() { return data_.get(); }
  std::unique_ptr<char[]> Release() { return std::move(data_); }

 private:
  void Reserve(size_t slot_bytes) {
    std::unique_ptr<char[]> grown(new char[before_ + slot_bytes + after_]());
    if (data_ != nullptr) std::memcpy(grown.get(), data_.get(), before_ + capacity_);
    data_ = std::move(grown);
    capacity_ = slot_bytes;
  }

  const size_t before_, after_;
  size_t capacity_ = 0;
  std::unique_ptr<char[]> data_;
};

}  // namespace

Payload Build(const HashList& hashes, const Plan& plan, size_t head_room, size_t tail_room) {
  if (hashes.empty()) return {std::unique_ptr<char[]>(new char[head_room + tail_room]()), 0};

  PartitionedHashes parts = PartitionHashes(hashes, plan.shards, [&plan](uint64_t hash) {
    return static_cast<size_t>(ShardIndex(hash, plan.shards));
  });
  std::vector<std::span<const uint64_t>> shards(plan.shards);
  uint64_t planned_slots = 0;
  for (size_t i = 0; i < plan.shards; i++) {
    const size_t begin = parts.begin_of_part[i];
    shards[i] = SortedSet({parts.hashes.data() + begin, parts.begin_of_part[i + 1] - begin});
    planned_slots += SlotsForKeys(shards[i].size());
  }

  const int bits = plan.fingerprint_bits;
  const auto first_wide_slot =
      static_cast<uint32_t>(std::llround((1 - plan.wide_share) * static_cast<double>(planned_slots)));
  const size_t directory_bytes = kPayloadHeadBytes + kOffsetBytes * (plan.shards + 1);
  const size_t planned_slot_bytes = SlotBit(planned_slots, bits, first_wide_slot) / 8 + 1;
  SlotWriter writer(head_room + directory_bytes, planned_slot_bytes + planned_slot_bytes / 64 + 64,
                    tail_room);

  Placement placement;
  std::vector<uint32_t> offsets = {0};
  for (const auto& shard : shards) {
    const uint32_t first_slot = offsets.back();
    uint32_t slots = SlotsForKeys(shard.size());
    bool placed = shard.empty() || placement.Place(shard, slots);
    for (int retry = 1; !placed && retry <= kMaxRetries; retry++) {
      slots += (slots << retry) / 200 + 1;
      placed = placement.Place(shard, slots);
    }
    if (!placed) slots = 1;  // may contain every key
    offsets.push_back(first_slot + slots);
    if (shard.empty() || !placed) continue;
    for (uint32_t i = 0; i < slots; i++) {
      const uint32_t key = placement.key_in_slot()[i];
      if (key == Placement::kEmpty) continue;
      const uint64_t slot = uint64_t{first_slot} + i;
      const int width = bits + (slot >= first_wide_slot ? 1 : 0);
      writer.Write(SlotBit(slot, bits, first_wide_slot),
                   StoredFingerprint(KeyBitsOf(shard[key]).fingerprint, width), width);
    }
  }

  char* directory = writer.head() + head_room;
  StoreLittleEndian32(directory, static_cast<uint32_t>(plan.shards));
  StoreLittleEndian32(directory + 4, first_wide_slot);
  for (size_t i = 0; i < offsets.size(); i++) {
    StoreLittleEndian32(directory + kPayloadHeadBytes + kOffsetBytes * i, offsets[i]);
  }
  const size_t slot_bytes = (SlotBit(offsets.back(), bits, first_wide_slot) + 7) / 8;
  return {writer.Release(), directory_bytes + slot_bytes};
}

}  // namespace rocksieve::cuckoo
