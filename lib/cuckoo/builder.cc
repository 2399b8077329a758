#include "lib/cuckoo/builder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/cuckoo/layout.h"
#include "lib/cuckoo/placement.h"
#include "lib/cuckoo/shard_sort.h"
#include "lib/cuckoo/slot_writer.h"

namespace rocksieve::cuckoo {

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
  std::vector<std::span<const uint64_t>> shards(plan.shards);
  uint64_t planned_slots = 0;
  std::optional<ShardSorter> sorter(std::in_place);
  for (size_t i = 0; i < plan.shards; i++) {
    const std::span<uint64_t> shard(parts.hashes.data() + parts.begin_of_part[i],
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
  SlotWriter writer(head_room + directory_bytes, planned_slot_bytes + planned_slot_bytes / 64 + 64,
                    tail_room);

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
      writer.Append(key == Placement::kEmpty
                        ? 0
                        : StoredFingerprint(KeyBitsOf(shard[key]).fingerprint, width),
                    width);
    }
  }
  const size_t slot_bytes = writer.Finish();

  char* directory = writer.data() + head_room;
  StoreLittleEndian32(directory, static_cast<uint32_t>(plan.shards));
  StoreLittleEndian32(directory + 4, first_wide_slot);
  for (size_t i = 0; i < offsets.size(); i++) {
    StoreLittleEndian32(directory + kPayloadHeadBytes + kOffsetBytes * i, offsets[i]);
  }
  built.data = writer.Release();
  built.size = directory_bytes + slot_bytes;
  return built;
}

}  // namespace rocksieve::cuckoo
