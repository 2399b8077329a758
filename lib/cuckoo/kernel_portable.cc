// The kernel for any machine: plain C++, either byte order.
#include "cuckoo/kernel.h"

namespace rocksieve::cuckoo {
namespace {

// Whether one of the two slots from `slot` on holds the fingerprint; without a branch, since that is
// a coin toss for present keys.
bool WindowHasNarrow(const Table& table, uint64_t slot, uint64_t fingerprint) {
  const uint64_t bit = SlotBit(slot, table.fingerprint_bits, table.first_wide_slot);
  const uint64_t bits = LoadLittleEndian64(table.slots + bit / 8) >> (bit % 8);
  const int width = table.fingerprint_bits + (slot >= table.first_wide_slot);
  const int next_width = table.fingerprint_bits + (slot + 1 >= table.first_wide_slot);
  const bool in_first = (bits & LowBits(width)) == StoredFingerprint(fingerprint, width);
  const bool in_second =
      (bits >> width & LowBits(next_width)) == StoredFingerprint(fingerprint, next_width);
  return in_first | in_second;
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

bool WindowHasWide(const Table& table, uint64_t slot, uint64_t fingerprint) {
  return SlotHas(table, slot, fingerprint) | SlotHas(table, slot + 1, fingerprint);
}

template <bool (*kWindowHas)(const Table&, uint64_t, uint64_t)>
bool Query(const Table& table, uint64_t hash) {
  const uint64_t shard = ShardIndex(hash, table.shards);
  const uint32_t begin = table.Offset(shard);
  const uint32_t slots = table.Offset(shard + 1) - begin;
  if (slots < kWindowSlots) return slots != 0;  // an empty shard, or one that holds everything
  const KeyBits key = KeyBitsOf(hash);
  return kWindowHas(table, uint64_t{begin} + WindowAt(key.first_position, slots), key.fingerprint) |
         kWindowHas(table, uint64_t{begin} + WindowAt(key.second_position, slots), key.fingerprint);
}

QueryFunction QueryFor(int fingerprint_bits) {
  return fingerprint_bits <= kMaxOneLoadBits ? Query<WindowHasNarrow> : Query<WindowHasWide>;
}

}  // namespace

const Kernel kPortableKernel = {"portable", QueryFor};

}  // namespace rocksieve::cuckoo
