#include "cuckoo/reader.h"

#include <algorithm>

namespace rocksieve::cuckoo {
namespace {

class CuckooFilter final : public Filter {
 public:
  CuckooFilter(const FilterBlockInfo& info, const Table& table, const Kernel& kernel)
      : Filter(info.salt), table_(table), query_(kernel.query_for(table.fingerprint_bits)) {}

  bool MayContainHash(uint64_t hash) const override { return query_(table_, hash); }

  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override {
    constexpr size_t kAhead = 32;  // keys on their way at once
    for (size_t begin = 0; begin < count; begin += kAhead) {
      const size_t end = std::min(begin + kAhead, count);
      for (size_t i = begin; i < end; i++) {
        __builtin_prefetch(table_.offsets + kOffsetBytes * ShardIndex(hashes[i], table_.shards));
      }
      for (size_t i = begin; i < end; i++) PrefetchWindows(hashes[i]);
      for (size_t i = begin; i < end; i++) may_contain[i] = query_(table_, hashes[i]);
    }
  }

 private:
  void PrefetchWindows(uint64_t hash) const {
    const uint64_t shard = ShardIndex(hash, table_.shards);
    const uint32_t begin = table_.Offset(shard);
    const uint32_t slots = table_.Offset(shard + 1) - begin;
    if (slots < kWindowSlots) return;
    const KeyBits key = KeyBitsOf(hash);
    for (uint32_t position : {key.first_position, key.second_position}) {
      const uint64_t slot = uint64_t{begin} + WindowAt(position, slots);
      __builtin_prefetch(table_.slots +
                         SlotBit(slot, table_.fingerprint_bits, table_.first_wide_slot) / 8);
    }
  }

  const Table table_;
  const QueryFunction query_;
};

}  // namespace

bool ParseTable(const FilterBlockInfo& info, Table* table) {
  const auto* payload = reinterpret_cast<const uint8_t*>(info.payload.data());
  if (info.parameter < kMinFingerprintBits || info.parameter >= kMaxFingerprintBits) return false;
  if (info.payload.size() < kPayloadHeadBytes) return false;
  table->fingerprint_bits = info.parameter;
  table->shards = LoadLittleEndian32(payload);
  table->first_wide_slot = LoadLittleEndian32(payload + 4);
  const uint64_t directory_bytes = kPayloadHeadBytes + kOffsetBytes * (table->shards + 1);
  if (table->shards == 0 || directory_bytes > info.payload.size()) return false;
  table->offsets = payload + kPayloadHeadBytes;
  table->slots = payload + directory_bytes;

  if (table->Offset(0) != 0) return false;
  for (uint64_t shard = 0; shard < table->shards; shard++) {
    if (table->Offset(shard) > table->Offset(shard + 1)) return false;
  }
  const uint64_t bits =
      SlotBit(table->Offset(table->shards), table->fingerprint_bits, table->first_wide_slot);
  return (bits + 7) / 8 == info.payload.size() - directory_bytes;
}

std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel) {
  Table table;
  if (!ParseTable(info, &table)) return nullptr;
  return std::make_unique<CuckooFilter>(info, table, kernel);
}

}  // namespace rocksieve::cuckoo
