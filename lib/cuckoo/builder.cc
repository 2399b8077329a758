// SPDX-License-Identifier: Apache-2.0
#include "lib/cuckoo/builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lib/cuckoo/layout.h"
#include "lib/cuckoo/placement.h"
#include "lib/format/coding.h"
#include "lib/format/span.h"

namespace rocksieve::cuckoo {
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

// Packs slots of a few bits each, one after another, into a buffer that grows.
class SlotWriter {
 public:
  // The slots stand between bytes_before and bytes_after other bytes, which are the caller's.
  SlotWriter(size_t bytes_before, size_t expected_slot_bytes, size_t bytes_after)
      : before_(bytes_before), after_(bytes_after) {
    Reserve(expected_slot_bytes);
  }

  // Appends the low `bits` bits of a value that has no others. REQUIRES: 0 < bits <= 64.
  void Append(uint64_t value, int bits) {
    pending_ |= value << pending_bits_;
    if (pending_bits_ + bits >= 64) {
      Flush();
      // A shift by 64 is undefined: it happens if nothing was pending and all 64 bits went out.
      pending_ = pending_bits_ == 0 ? 0 : value >> (64 - pending_bits_);
      pending_bits_ += bits - 64;
    } else {
      pending_bits_ += bits;
    }
  }

  // Writes what is left, and returns the number of bytes of all slots; call it once, last.
  size_t Finish() {
    const size_t bytes = size_ + static_cast<size_t>(pending_bits_ + 7) / 8;
    Flush();
    return bytes;
  }

  char* data() { return data_.get(); }
  std::unique_ptr<char[]> Release() { return std::move(data_); }

 private:
  void Flush() {
    if (size_ + 8 > capacity_) Reserve(size_ + 8 + capacity_ / 4);
    StoreLittleEndian64(data_.get() + before_ + size_, pending_);
    size_ += 8;
  }

  void Reserve(size_t slot_bytes) {
    std::unique_ptr<char[]> grown(new char[before_ + slot_bytes + after_]());
    if (data_ != nullptr) std::memcpy(grown.get(), data_.get(), before_ + size_);
    data_ = std::move(grown);
    capacity_ = slot_bytes;
  }

  const size_t before_, after_;
  size_t capacity_ = 0, size_ = 0;
  uint64_t pending_ = 0;
  int pending_bits_ = 0;
  std::unique_ptr<char[]> data_;
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
