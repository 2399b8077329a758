// SPDX-License-Identifier: Apache-2.0
// The cuckoo family behind the common door.
#include <algorithm>
#include <string>
#include <utility>

#include "lib/cuckoo/builder.h"
#include "lib/cuckoo/reader.h"
#include "lib/filter/family.h"

namespace rocksieve {
namespace {

double ExpectedPayloadBits(uint64_t keys, const Budget& budget) {
  return cuckoo::ExpectedPayloadBits(keys, cuckoo::PlanFor(keys, budget));
}

double ExpectedRate(uint64_t keys, const Budget& budget) {
  if (keys == 0) return 0;
  const cuckoo::Plan plan = cuckoo::PlanFor(keys, budget);
  const double load = static_cast<double>(keys) / cuckoo::ExpectedSlots(keys, plan);
  return cuckoo::FalsePositiveRate(plan.fingerprint_bits, plan.wide_share, load);
}

Payload Build(HashList hashes, const Budget& budget, size_t head_room, size_t tail_room) {
  const cuckoo::Plan plan = cuckoo::PlanFor(hashes.size(), budget);
  return cuckoo::Build(std::move(hashes), plan, head_room, tail_room);
}

std::unique_ptr<Filter> Open(const FilterBlockInfo& info) { return cuckoo::Open(info); }

double RateOfBlock(const FilterBlockInfo& info) {
  cuckoo::Table table;
  if (info.key_count == 0 || !cuckoo::ParseTable(info, &table)) return 0;
  const double slots = table.Offset(table.shards);
  const double wide = slots > table.first_wide_slot ? slots - table.first_wide_slot : 0;
  // A block may claim any number of keys.
  const double load = std::min(static_cast<double>(info.key_count) / slots, 1.0);
  const double unfiltered = cuckoo::SaturatedFraction(table);
  return unfiltered +
         (1 - unfiltered) * cuckoo::FalsePositiveRate(table.fingerprint_bits, wide / slots, load);
}

double SaturatedFraction(const FilterBlockInfo& info) {
  cuckoo::Table table;
  return info.key_count > 0 && cuckoo::ParseTable(info, &table) ? cuckoo::SaturatedFraction(table)
                                                                : 0;
}

FilterDescription Describe(const FilterBlockInfo& info) {
  cuckoo::Table table;
  FilterDescription description;
  if (!cuckoo::ParseTable(info, &table)) return description;
  const uint64_t slots = table.Offset(table.shards);
  std::string bits = std::to_string(table.fingerprint_bits);
  if (table.first_wide_slot < slots) bits += " and " + std::to_string(table.fingerprint_bits + 1);
  description.parameters = "fingerprints of " + bits + " bits, " + std::to_string(slots) +
                           " slots in " + std::to_string(table.shards) + " shards";
  const auto all = static_cast<double>(slots), narrow = static_cast<double>(table.first_wide_slot);
  description.setting.unit = "fingerprint bits";
  description.setting.value = table.fingerprint_bits + (all > narrow ? (all - narrow) / all : 0);
  description.place = "slot";
  description.places = all;
  return description;
}

// 0 is the empty slot.
FilterFill CountFill(const FilterBlockInfo& info) {
  cuckoo::Table table;
  if (!cuckoo::ParseTable(info, &table)) return {"slots used", 0};
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
  return {"slots used", slots == 0 ? 0 : static_cast<double>(used) / static_cast<double>(slots)};
}

}  // namespace

const FamilyEntry kCuckooFamily = {
    .family = Family::kCuckoo,
    .name = "cuckoo",
    .min_bits_per_key = cuckoo::kMinBitsPerKey,
    .max_bits_per_key = cuckoo::kMaxBitsPerKey,
    .min_rate = 2.5e-8 / 100,  // as a spec in percent reads it
    .probe_ns = 11,
    .bits_per_halving = 1.05,
    .extra_bits = 2.1,
    .most_size_factor = 1.004,  // shards that have to grow
    .most_part_growth = 0.35,
    .part_keys = cuckoo::kThoroughKeysPerShard,
    .expected_payload_bits = ExpectedPayloadBits,
    .expected_rate = ExpectedRate,
    .build = Build,
    .open = Open,
    .rate_of_block = RateOfBlock,
    .saturated_fraction = SaturatedFraction,
    .describe = Describe,
    .count_fill = CountFill,
};

}  // namespace rocksieve
