#include "plugin/database/filter_load.h"

#include <bit>

#include "lib/bloom/layout.h"
#include "lib/bloom/reader.h"
#include "lib/cuckoo/reader.h"
#include "lib/ribbon/reader.h"

namespace rocksieve {
namespace {

constexpr uint64_t kRibbonBlockSlots = 128;

double Ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

// The seeds of lanes are no probe bits; those of the eighth word are its top byte.
double BloomFill(const FilterBlockInfo& info) {
  uint64_t set = 0, bits = 0;
  for (size_t at = 0; at + bloom::kLineBytes <= info.payload.size(); at += bloom::kLineBytes) {
    for (int lane = 0; lane < bloom::kLanes; lane++) {
      set += std::popcount(LoadLittleEndian64(info.payload.data() + at + 8 * lane));
      bits += 64;
    }
    if (bloom::ProbesOf(info) < 8) continue;  // leaves the eighth word alone
    set += std::popcount(LoadLittleEndian64(info.payload.data() + at + 56) & ~bloom::kNotProbeBits);
    bits += 8;
  }
  return bits == 0 ? 0 : static_cast<double>(set) / static_cast<double>(bits);
}

// 0 is the empty slot.
double CuckooFill(const FilterBlockInfo& info) {
  cuckoo::Table table;
  if (!cuckoo::ParseTable(info, &table)) return 0;
  const uint64_t slots = table.Offset(table.shards);
  uint64_t used = 0;
  for (uint64_t slot = 0; slot < slots; slot++) {
    const uint64_t bit = cuckoo::SlotBit(slot, table.fingerprint_bits, table.first_wide_slot);
    int width = table.fingerprint_bits + (slot >= table.first_wide_slot ? 1 : 0);
    bool holds = false;
    for (uint64_t at = bit; at < bit + static_cast<uint64_t>(width) && !holds; at++) {
      holds = (table.slots[at / 8] >> (at % 8) & 1) != 0;
    }
    used += holds ? 1 : 0;
  }
  return slots == 0 ? 0 : static_cast<double>(used) / static_cast<double>(slots);
}

double BuiltinBloomFill(const DecodedFilter& filter) {
  const uint64_t bytes = filter.lines * filter.line_bytes;
  uint64_t set = 0;
  for (uint64_t i = 0; i < bytes; i++) {
    set += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(filter.block[i])));
  }
  return Ratio(static_cast<double>(set), 8 * static_cast<double>(bytes));
}

double RibbonSlots(const FilterBlockInfo& info) {
  ribbon::Table table;
  if (ribbon::FormOf(info) == ribbon::Form::kSmall) return static_cast<uint8_t>(info.payload[0]);
  if (ribbon::FormOf(info) != ribbon::Form::kGeneral || !ribbon::ParseTable(info, &table)) return 0;
  return static_cast<double>(table.layout.groups * ribbon::kSlotsPerGroup);
}

FilterLoad OurLoad(const FilterBlockInfo& info) {
  const auto keys = static_cast<double>(info.key_count);
  if (info.key_count == 0 || info.payload.empty()) return {};
  switch (info.family) {
    case Family::kBloom:
      return {"keys per line", keys * bloom::kLineBytes / static_cast<double>(info.payload.size()),
              "probe bits set", BloomFill(info)};
    case Family::kCuckoo: {
      cuckoo::Table table;
      if (!cuckoo::ParseTable(info, &table)) return {};
      return {"keys per slot", Ratio(keys, table.Offset(table.shards)), "slots used",
              CuckooFill(info)};
    }
    case Family::kRibbon:
      return {"keys per slot", Ratio(keys, RibbonSlots(info)), "", 0};
  }
  return {};
}

}  // namespace

FilterLoad LoadOf(const DecodedFilter& filter, uint64_t entries) {
  const auto keys = static_cast<double>(entries);
  switch (filter.kind) {
    case BlockKind::kOurs:
      return OurLoad(filter.info);
    case BlockKind::kBuiltinBloom:
    case BlockKind::kLegacyBloom:
      return {"keys per line", Ratio(keys, static_cast<double>(filter.lines)), "probe bits set",
              BuiltinBloomFill(filter)};
    case BlockKind::kBuiltinRibbon:
      return {"keys per slot",
              Ratio(keys, static_cast<double>(filter.ribbon_blocks * kRibbonBlockSlots)), "", 0};
    default:
      return {};
  }
}

}  // namespace rocksieve
