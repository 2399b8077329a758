// SPDX-License-Identifier: Apache-2.0
#include "experiments/structures/cuckoo_table.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lib/format/byte_io.h"
#include "lib/format/coding.h"
#include "lib/hash/key_hash128.h"
#include "lib/toolbox/cuckoo_buckets.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {
namespace {

constexpr double kMostLoad = 0.95;
constexpr uint64_t kMostKeys = uint64_t{1} << 40;
constexpr int kPlaceBits = 40;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;
// Below this load a key finds room unless many have the same hash: then only another seed helps.
constexpr double kUnluckyLoad = 0.4;
constexpr int kMostAttempts = 40;
constexpr uint64_t kLeastBytesToDrop = 4096;

uint64_t BucketsFor(uint64_t keys) {
  const double slots = static_cast<double>(keys) / kMostLoad + 2 * kSlotsPerBucket;
  return static_cast<uint64_t>(std::ceil(slots / (2 * kSlotsPerBucket)));
}

uint64_t PlaceOf(uint64_t slot) { return (slot & kPlaceMask) - 1; }

// A varint with its length, and the key.
size_t BytesOfEntry(std::string_view key) {
  size_t bytes = 1 + key.size();
  for (size_t length = key.size(); length >= 0x80; length >>= 7) bytes++;
  return bytes;
}

// Makes room by an eighth at a time, where the library's types double.
void AppendEntry(std::string_view key, std::vector<char>* bytes) {
  const size_t needed = bytes->size() + BytesOfEntry(key);
  if (needed > bytes->capacity()) bytes->reserve(needed + needed / 8);
  size_t length = key.size();
  for (; length >= 0x80; length >>= 7) bytes->push_back(static_cast<char>(length | 0x80));
  bytes->push_back(static_cast<char>(length));
  bytes->insert(bytes->end(), key.begin(), key.end());
}

size_t FirstSlotOf(uint64_t bucket) { return bucket * kSlotsPerBucket; }

}  // namespace

CuckooTable::CuckooTable(const CuckooTableOptions& options) : options_(options) {
  if (options.keys > kMostKeys) {
    throw std::invalid_argument("CuckooTable: keys is " + std::to_string(options.keys) +
                                "; give 0 to 2^40, it grows by itself");
  }
  buckets_per_table_ = BucketsFor(options.keys);
  slots_.resize(FirstSlotOf(2 * buckets_per_table_));
}

CuckooTable::Buckets CuckooTable::BucketsOf(std::string_view key) const {
  const KeyHash128 hash = HashKey128(key, options_.seed + rehashes_);
  return {MultiplyHigh64(hash.low, buckets_per_table_),
          buckets_per_table_ + MultiplyHigh64(hash.high, buckets_per_table_),
          hash.low << kPlaceBits};
}

std::string_view CuckooTable::KeyAt(uint64_t place) const {
  return ByteReader({key_bytes_.data() + place, key_bytes_.size() - place}).String();
}

size_t CuckooTable::FindSlot(std::string_view key) const {
  const Buckets buckets = BucketsOf(key);
  for (const uint64_t bucket : {buckets.first, buckets.second}) {
    for (size_t slot = FirstSlotOf(bucket); slot < FirstSlotOf(bucket + 1); slot++) {
      const bool same_tag = slots_[slot] != 0 && (slots_[slot] & ~kPlaceMask) == buckets.tag;
      if (same_tag && KeyAt(PlaceOf(slots_[slot])) == key) return slot;
    }
  }
  return kNoSlot;
}

int CuckooTable::FreeSlotOf(uint64_t bucket) const {
  for (int slot = 0; slot < kSlotsPerBucket; slot++) {
    if (slots_[FirstSlotOf(bucket) + static_cast<size_t>(slot)] == 0) return slot;
  }
  return -1;
}

bool CuckooTable::Insert(const Buckets& buckets, uint64_t place) {
  const auto index = [](SlotPlace at) {
    return FirstSlotOf(at.bucket) + static_cast<size_t>(at.slot);
  };
  std::optional<SlotPlace> free = SlotPlace{buckets.first, FreeSlotOf(buckets.first)};
  if (free->slot < 0) free = SlotPlace{buckets.second, FreeSlotOf(buckets.second)};
  if (free->slot < 0) {
    free = MakeRoom(
        buckets.first, buckets.second, [this](uint64_t bucket) { return FreeSlotOf(bucket); },
        [&](uint64_t bucket, int slot) {
          const Buckets others = BucketsOf(KeyAt(PlaceOf(slots_[index({bucket, slot})])));
          return bucket == others.first ? others.second : others.first;
        },
        [&](SlotPlace from, SlotPlace to) { slots_[index(to)] = slots_[index(from)]; });
  }
  if (!free) return false;
  slots_[index(*free)] = buckets.tag | (place + 1);
  return true;
}

void CuckooTable::Add(std::string_view key) {
  if (FindSlot(key) != kNoSlot) return;
  const uint64_t place = key_bytes_.size();
  if (place + BytesOfEntry(key) >= kPlaceMask) {
    throw std::length_error("CuckooTable: more than a terabyte of keys; divide them");
  }
  if (static_cast<double>(size_ + 1) > kMostLoad * static_cast<double>(slots_.size())) Grow();
  AppendEntry(key, &key_bytes_);
  for (int attempts = 0; !Insert(BucketsOf(key), place); attempts++) {
    if (attempts == kMostAttempts) {
      key_bytes_.resize(place);
      throw std::length_error(
          "CuckooTable: keys were chosen to have the same hash; take a secret random seed");
    }
    Grow();
  }
  size_++;
}

void CuckooTable::Grow() {
  if (Load() < kUnluckyLoad) {
    while (!Rehash(buckets_per_table_, rehashes_ + 1)) rehashes_++;
    return;
  }
  uint64_t buckets = buckets_per_table_;
  do {
    buckets += buckets / 2 + 1;
  } while (!Rehash(buckets, rehashes_));
}

bool CuckooTable::Rehash(uint64_t buckets_per_table, uint64_t rehashes) {
  std::vector<uint64_t> old_slots(FirstSlotOf(2 * buckets_per_table));
  const auto exchange = [&] {
    old_slots.swap(slots_);
    std::swap(buckets_per_table, buckets_per_table_);
    std::swap(rehashes, rehashes_);
  };
  exchange();
  for (const uint64_t slot : old_slots) {
    if (slot == 0) continue;
    if (!Insert(BucketsOf(KeyAt(PlaceOf(slot))), PlaceOf(slot))) {
      exchange();
      return false;
    }
  }
  return true;
}

bool CuckooTable::Remove(std::string_view key) {
  const size_t slot = FindSlot(key);
  if (slot == kNoSlot) return false;
  slots_[slot] = 0;
  size_--;
  removed_bytes_ += BytesOfEntry(key);
  if (removed_bytes_ >= kLeastBytesToDrop && removed_bytes_ > key_bytes_.size() / 2) {
    DropRemovedKeys();
  }
  return true;
}

void CuckooTable::DropRemovedKeys() {
  std::vector<char> kept;
  kept.reserve(key_bytes_.size() - removed_bytes_);
  for (uint64_t& slot : slots_) {
    if (slot == 0) continue;
    const uint64_t place = kept.size();
    AppendEntry(KeyAt(PlaceOf(slot)), &kept);
    slot = (slot & ~kPlaceMask) | (place + 1);
  }
  key_bytes_ = std::move(kept);
  removed_bytes_ = 0;
}

size_t CuckooTable::MemoryBytes() const {
  return sizeof(*this) + slots_.capacity() * sizeof(slots_[0]) + key_bytes_.capacity();
}

std::vector<std::string_view> CuckooTable::SortedKeys() const {
  std::vector<std::string_view> keys;
  keys.reserve(size_);
  for (const uint64_t slot : slots_) {
    if (slot != 0) keys.push_back(KeyAt(PlaceOf(slot)));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::string CuckooTable::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(options_.seed);
  out.Varint(size_);
  for (const std::string_view key : SortedKeys()) out.String(key);
  return WriteEnvelope(EnvelopeType::kCuckooTable, payload);
}

std::optional<CuckooTable> CuckooTable::Deserialize(std::string_view bytes, std::string* error) {
  std::string wrong = "not so many keys, or not in ascending order";
  PayloadReader in(bytes, EnvelopeType::kCuckooTable, error);
  CuckooTableOptions options;
  options.seed = in.U64();
  options.keys = in.Varint(in.remaining());  // each takes a byte at least
  try {
    CuckooTable table(options);
    std::string_view last;
    for (uint64_t i = 0; i < options.keys && in.ok(); i++) {
      const std::string_view key = in.String();
      if (i > 0 && key <= last) in.Fail();
      if (in.ok()) table.Add(key);
      last = key;
    }
    if (in.Finished()) return table;
  } catch (const std::length_error& hostile) {
    wrong = hostile.what();
  }
  return in.Refuse(wrong);
}

}  // namespace rocksieve
