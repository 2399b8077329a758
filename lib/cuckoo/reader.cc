// SPDX-License-Identifier: Apache-2.0
#include "lib/cpu/isa.h"
#include "lib/cuckoo/reader.h"

#include <algorithm>

namespace rocksieve::cuckoo {
namespace {

Zone ZoneOf(int bits) {
  const uint64_t both = 1 | uint64_t{1} << bits;
  return {LowBits(bits), both, both << (bits - 1)};
}

bool SlotHas(const Table& table, uint64_t slot, uint64_t fingerprint) {
  const uint64_t bit = SlotBit(slot, table.fingerprint_bits, table.first_wide_slot);
  const uint8_t* from = table.slots + bit / 8;
  const unsigned __int128 both =
      static_cast<unsigned __int128>(from[8]) << 64 | LoadLittleEndian64(from);
  const int width = table.fingerprint_bits + (slot >= table.first_wide_slot);
  return (static_cast<uint64_t>(both >> (bit % 8)) & LowBits(width)) ==
         StoredFingerprint(fingerprint, width);
}

bool WindowHasAnyWidth(const Table& table, uint64_t slot, uint64_t fingerprint) {
  return SlotHas(table, slot, fingerprint) | SlotHas(table, slot + 1, fingerprint);
}

// Whether one of the two slots from `slot` on holds the fingerprint. Without a branch that depends
// on the answer, since that is a coin toss for present keys.
bool WindowHasOneLoad(const Table& table, uint64_t slot, uint64_t fingerprint) {
  if (slot + 1 == table.first_wide_slot) return WindowHasAnyWidth(table, slot, fingerprint);
  const Zone& zone = table.zones[slot >= table.first_wide_slot];
  const uint64_t bit = SlotBit(slot, table.fingerprint_bits, table.first_wide_slot);
  const uint64_t slots = LoadLittleEndian64(table.slots + bit / 8) >> (bit % 8);
  const uint64_t low = fingerprint & zone.mask;
  // A slot that holds the fingerprint is 0 in `difference`. Subtracting 1 from a 0 sets its highest
  // bit, which was not set before; it also borrows from the next slot, but then the answer is
  // known.
  const uint64_t difference = slots ^ ((low + (low == 0)) * zone.low_bits);
  return ((difference - zone.low_bits) & ~difference & zone.high_bits) != 0;
}

using WindowHas = bool (*)(const Table&, uint64_t slot, uint64_t fingerprint);

// Where a key's windows are.
struct Place {
  uint32_t slots;  // of its shard; if there is no window in it, the rest means nothing
  uint64_t first, second, fingerprint;
};

class CuckooFilter final : public Filter {
 public:
  CuckooFilter(const FilterBlockInfo& info, const Table& table)
      : Filter(info.salt, table.fingerprint_bits <= kMaxOneLoadBits ? One<WindowHasOneLoad>
                                                                    : One<WindowHasAnyWidth>),
        many_(table.fingerprint_bits <= kMaxOneLoadBits ? &CuckooFilter::Many<WindowHasOneLoad>
                                                        : &CuckooFilter::Many<WindowHasAnyWidth>),
        table_(table),
        is_fetched_ahead_(info.payload.size() >= kLeastBytesAhead) {}

  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override {
    (this->*many_)(hashes, count, may_contain);
  }

 private:
  static Place PlaceOf(const Table& table, uint64_t hash) {
    const uint64_t shard = ShardIndex(hash, table.shards);
    const uint32_t begin = table.Offset(shard);
    const uint32_t slots = table.Offset(shard + 1) - begin;
    const KeyBits key = KeyBitsOf(hash);
    return {slots, uint64_t{begin} + WindowAt(key.first_position, slots),
            uint64_t{begin} + WindowAt(key.second_position, slots), key.fingerprint};
  }

  template <WindowHas kWindowHas>
  static bool Ask(const Table& table, const Place& place) {
    // An empty shard, or one that holds everything.
    if (place.slots < kWindowSlots) return place.slots != 0;
    return kWindowHas(table, place.first, place.fingerprint) |
           kWindowHas(table, place.second, place.fingerprint);
  }

  template <WindowHas kWindowHas>
  static bool One(const Filter& filter, uint64_t hash) {
    const Table& table = static_cast<const CuckooFilter&>(filter).table_;
    return Ask<kWindowHas>(table, PlaceOf(table, hash));
  }

  template <WindowHas kWindowHas>
  void Many(const uint64_t* hashes, size_t count, bool* may_contain) const {
    if (!is_fetched_ahead_) {
      for (size_t i = 0; i < count; i++) {
        may_contain[i] = Ask<kWindowHas>(table_, PlaceOf(table_, hashes[i]));
      }
      return;
    }
    Place places[kKeysAhead];
    for (size_t begin = 0; begin < count; begin += kKeysAhead) {
      const size_t keys = std::min(kKeysAhead, count - begin);
      for (size_t i = 0; i < keys; i++) {
        places[i] = PlaceOf(table_, hashes[begin + i]);
        Prefetch(places[i].first);
        Prefetch(places[i].second);
      }
      for (size_t i = 0; i < keys; i++) {
        may_contain[begin + i] = Ask<kWindowHas>(table_, places[i]);
      }
    }
  }

  // Always inline: g++ 12 takes a function that does nothing but prefetch for one without effects,
  // and leaves out the call. The address may be anything.
  [[gnu::always_inline]] void Prefetch(uint64_t slot) const {
    const uint64_t byte = SlotBit(slot, table_.fingerprint_bits, table_.first_wide_slot) / 8;
    __builtin_prefetch(
        reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(table_.slots) + byte), 0,
        kAheadLocality);
  }

  void (CuckooFilter::*const many_)(const uint64_t*, size_t, bool*) const;
  const Table table_;
  const bool is_fetched_ahead_;
};

}  // namespace

bool ParseTable(const FilterBlockInfo& info, Table* table) {
  const auto* payload = reinterpret_cast<const uint8_t*>(info.payload.data());
  if (info.parameter < kMinFingerprintBits || info.parameter >= kMaxFingerprintBits) return false;
  if (info.payload.size() < kPayloadHeadBytes) return false;
  table->fingerprint_bits = info.parameter;
  table->shards = LoadLittleEndian32(payload);
  table->first_wide_slot = LoadLittleEndian32(payload + 4);
  if (table->fingerprint_bits <= kMaxOneLoadBits) {
    table->zones[0] = ZoneOf(table->fingerprint_bits);
    table->zones[1] = ZoneOf(table->fingerprint_bits + 1);
  }
  const uint64_t directory_bytes = kPayloadHeadBytes + kOffsetBytes * (table->shards + 1);
  if (table->shards == 0 || directory_bytes > info.payload.size()) return false;
  table->offsets = payload + kPayloadHeadBytes;
  table->slots = payload + directory_bytes;

  if (table->Offset(0) != 0) return false;
  for (uint64_t shard = 0; shard < table->shards; shard++) {
    if (table->Offset(shard) > table->Offset(shard + 1)) return false;
  }
  if (table->Offset(table->shards) == 0) return false;  // a filter of no keys has no payload
  const uint64_t bits =
      SlotBit(table->Offset(table->shards), table->fingerprint_bits, table->first_wide_slot);
  return (bits + 7) / 8 == info.payload.size() - directory_bytes;
}

double SaturatedFraction(const Table& table) {
  uint64_t unfiltered = 0;
  for (uint64_t shard = 0; shard < table.shards; shard++) {
    unfiltered += table.Offset(shard + 1) - table.Offset(shard) == 1;
  }
  return static_cast<double>(unfiltered) / static_cast<double>(table.shards);
}

std::unique_ptr<Filter> Open(const FilterBlockInfo& info) {
  Table table;
  if (!ParseTable(info, &table)) return nullptr;
  return std::make_unique<CuckooFilter>(info, table);
}

}  // namespace rocksieve::cuckoo
