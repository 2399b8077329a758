#include "lib/cuckoo/reader.h"

#include <algorithm>
#include <span>

namespace rocksieve::cuckoo {
namespace {

Zone ZoneOf(int bits) {
  const uint64_t both = 1 | uint64_t{1} << bits;
  return {LowBits(bits), both, both << (bits - 1)};
}

class CuckooFilter final : public TableFilter {
 public:
  CuckooFilter(const FilterBlockInfo& info, const Table& table, const Kernel& kernel)
      : TableFilter(table, info.salt, kernel.query_for(table.fingerprint_bits)) {}

  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override {
    constexpr size_t kAhead = 32;  // keys on their way at once
    for (size_t begin = 0; begin < count; begin += kAhead) {
      const size_t keys = std::min(kAhead, count - begin);
      PrefetchWindows({hashes + begin, keys});
      for (size_t i = begin; i < begin + keys; i++) may_contain[i] = MayContainHash(hashes[i]);
    }
  }

 private:
  // Always inline: g++ 12 takes a function that does nothing but prefetch for one without effects,
  // and leaves out the call.
  [[gnu::always_inline]] void PrefetchWindows(std::span<const uint64_t> hashes) const {
    for (uint64_t hash : hashes) {
      const uint64_t shard = ShardIndex(hash, table().shards);
      const uint32_t begin = table().Offset(shard);
      const uint32_t slots = table().Offset(shard + 1) - begin;
      if (slots < kWindowSlots) continue;
      const KeyBits key = KeyBitsOf(hash);
      for (uint32_t position : {key.first_position, key.second_position}) {
        const uint64_t slot = uint64_t{begin} + WindowAt(position, slots);
        __builtin_prefetch(table().slots +
                           SlotBit(slot, table().fingerprint_bits, table().first_wide_slot) / 8);
      }
    }
  }
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

std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel) {
  Table table;
  if (!ParseTable(info, &table)) return nullptr;
  return std::make_unique<CuckooFilter>(info, table, kernel);
}

}  // namespace rocksieve::cuckoo
