// The kernel for any machine: plain C++, either byte order.
#include "lib/cuckoo/kernel.h"

namespace rocksieve::cuckoo {
namespace {

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

template <bool (*kWindowHas)(const Table&, uint64_t, uint64_t)>
bool Query(const Filter& filter, uint64_t hash) {
  const Table& table = static_cast<const TableFilter&>(filter).table();
  const uint64_t shard = ShardIndex(hash, table.shards);
  const uint32_t begin = table.Offset(shard);
  const uint32_t slots = table.Offset(shard + 1) - begin;
  if (slots < kWindowSlots) return slots != 0;  // an empty shard, or one that holds everything
  const KeyBits key = KeyBitsOf(hash);
  return kWindowHas(table, uint64_t{begin} + WindowAt(key.first_position, slots), key.fingerprint) |
         kWindowHas(table, uint64_t{begin} + WindowAt(key.second_position, slots), key.fingerprint);
}

QueryFunction QueryFor(int fingerprint_bits) {
  return fingerprint_bits <= kMaxOneLoadBits ? Query<WindowHasOneLoad> : Query<WindowHasAnyWidth>;
}

}  // namespace

const Kernel kPortableKernel = {"portable", QueryFor};

}  // namespace rocksieve::cuckoo
