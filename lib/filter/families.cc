// SPDX-License-Identifier: Apache-2.0
// The families of hashes behind the common door: bloom, cuckoo, ribbon.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "lib/bloom/filter.h"
#include "lib/cuckoo/builder.h"
#include "lib/cuckoo/reader.h"
#include "lib/filter/family.h"
#include "lib/format/coding.h"
#include "lib/ribbon/builder.h"
#include "lib/ribbon/reader.h"

namespace rocksieve {
namespace {

FilterDescription DescribeBloom(const FilterBlockInfo& info) {
  constexpr const char* kEffortText[bloom::kEfforts] = {"", " (fast)", " (thorough)"};
  const size_t lines = info.payload.size() / bloom::kLineBytes;
  FilterDescription description;
  description.parameters = std::to_string(bloom::ProbesOf(info.parameter)) + " probes" +
                           kEffortText[static_cast<int>(bloom::EffortOf(info.parameter))] +
                           ", " + std::to_string(lines) + (lines == 1 ? " line" : " lines") +
                           " of 64 bytes";
  description.setting = {"probes", static_cast<double>(bloom::ProbesOf(info.parameter))};
  description.place = "line";
  description.places = static_cast<double>(lines);
  return description;
}

// The seeds of lanes are no probe bits; those of the eighth word are its top byte.
FilterFill FillOfBloom(const FilterBlockInfo& info) {
  uint64_t set = 0, bits = 0;
  for (size_t at = 0; at + bloom::kLineBytes <= info.payload.size(); at += bloom::kLineBytes) {
    for (int lane = 0; lane < bloom::kLanes; lane++) {
      set += __builtin_popcountll(LoadLittleEndian64(info.payload.data() + at + 8 * lane));
      bits += 64;
    }
    if (bloom::ProbesOf(info.parameter) < 8) continue;  // leaves the eighth word alone
    set += __builtin_popcountll(LoadLittleEndian64(info.payload.data() + at + 56) &
                                ~bloom::kNotProbeBits);
    bits += 8;
  }
  return {"probe bits set", bits == 0 ? 0 : static_cast<double>(set) / static_cast<double>(bits)};
}

}  // namespace

const FamilyEntry kBloomFamily = {
    .family = Family::kBloom,
    .name = "bloom",
    .min_bits_per_key = bloom::kMinBitsPerKey,
    .max_bits_per_key = bloom::kMaxBitsPerKey,
    .min_rate = 1e-6,
    .probe_ns = 6,
    .bits_per_halving = 1.5,
    .extra_bits = 0.035,
    .has_fast_build = true,
    .expected_payload_bits =
        [](uint64_t keys, const Budget& budget) {
          return 8.0 * static_cast<double>(bloom::PayloadBytes(bloom::PlanFor(keys, budget)));
        },
    .expected_rate =
        [](uint64_t keys, const Budget& budget) {
          return bloom::FalsePositiveRate(bloom::PlanFor(keys, budget), keys);
        },
    .rate_of_large =
        [](double bits_per_key, bool thorough) {
          return bloom::FalsePositiveRateOfManyLines(
              bloom::ProbesFor(bits_per_key),
              thorough ? bloom::Effort::kThorough : bloom::Effort::kUsual,
              8.0 * bloom::kLineBytes / bits_per_key);
        },
    .build =
        [](HashList hashes, const Budget& budget, size_t head_room, size_t tail_room) {
          const bloom::Plan plan = bloom::PlanFor(hashes.size(), budget);
          return bloom::Build(std::move(hashes), plan, head_room, tail_room);
        },
    .open = [](const FilterBlockInfo& info) { return bloom::Open(info); },
    .rate_of_block =
        [](const FilterBlockInfo& info) {
          const bloom::Plan plan = {info.payload.size() / bloom::kLineBytes,
                                    bloom::ProbesOf(info.parameter),
                                    bloom::EffortOf(info.parameter)};
          return bloom::FalsePositiveRate(plan, info.key_count);
        },
    .saturated_fraction = [](const FilterBlockInfo&) { return 0.0; },
    .describe = DescribeBloom,
    .count_fill = FillOfBloom,
};

namespace {

double RateOfCuckoo(const FilterBlockInfo& info) {
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

FilterDescription DescribeCuckoo(const FilterBlockInfo& info) {
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
FilterFill FillOfCuckoo(const FilterBlockInfo& info) {
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
    .expected_payload_bits =
        [](uint64_t keys, const Budget& budget) {
          return cuckoo::ExpectedPayloadBits(keys, cuckoo::PlanFor(keys, budget));
        },
    .expected_rate =
        [](uint64_t keys, const Budget& budget) {
          if (keys == 0) return 0.0;
          const cuckoo::Plan plan = cuckoo::PlanFor(keys, budget);
          const double load = static_cast<double>(keys) / cuckoo::ExpectedSlots(keys, plan);
          return cuckoo::FalsePositiveRate(plan.fingerprint_bits, plan.wide_share, load);
        },
    .build =
        [](HashList hashes, const Budget& budget, size_t head_room, size_t tail_room) {
          const cuckoo::Plan plan = cuckoo::PlanFor(hashes.size(), budget);
          return cuckoo::Build(std::move(hashes), plan, head_room, tail_room);
        },
    .open = cuckoo::Open,
    .rate_of_block = RateOfCuckoo,
    .saturated_fraction =
        [](const FilterBlockInfo& info) {
          cuckoo::Table table;
          return info.key_count > 0 && cuckoo::ParseTable(info, &table)
                     ? cuckoo::SaturatedFraction(table)
                     : 0;
        },
    .describe = DescribeCuckoo,
    .count_fill = FillOfCuckoo,
};

namespace {

double RateOfRibbon(const FilterBlockInfo& info) {
  const ribbon::Form form = ribbon::FormOf(info);
  ribbon::Table table;
  if (form == ribbon::Form::kMatchAll) return 1;
  if (form == ribbon::Form::kSmall) {
    return ribbon::FalsePositiveRate(ribbon::ColumnsOf(info.parameter), 0);
  }
  return ribbon::ParseTable(info, &table) ? ribbon::RateOf(table) : 0;
}

FilterDescription DescribeRibbon(const FilterBlockInfo& info) {
  const int columns = ribbon::ColumnsOf(info.parameter);
  FilterDescription description;
  description.setting = {"columns", static_cast<double>(columns)};
  description.place = "slot";
  ribbon::Table table;
  switch (ribbon::FormOf(info)) {
    case ribbon::Form::kMatchAll:
      description.parameters = "matches all: its keys could not be placed";
      break;
    case ribbon::Form::kSmall:
      description.parameters = std::to_string(columns) + " columns, small form";
      description.places = static_cast<uint8_t>(info.payload[0]);
      break;
    case ribbon::Form::kGeneral: {
      if (!ribbon::ParseTable(info, &table)) break;
      const double wide = ribbon::WidthOf(table).wide_share;
      const uint64_t slots = table.layout.groups * ribbon::kSlotsPerGroup;
      char width[64];
      std::snprintf(width, sizeof(width), "%.2f columns", table.layout.columns + wide);
      description.parameters =
          width + std::string(", ") + std::to_string(table.buckets) + " buckets, " +
          std::to_string(slots) + " slots" +
          (table.reseed > 0 ? ", reseeded " + std::to_string(table.reseed) + " times" : "");
      description.setting.value = table.layout.columns + wide;
      description.places = static_cast<double>(slots);
      break;
    }
    case ribbon::Form::kDamaged:
      break;
  }
  return description;
}

}  // namespace

const FamilyEntry kRibbonFamily = {
    .family = Family::kRibbon,
    .name = "ribbon",
    .min_bits_per_key = ribbon::kMinBitsPerKey,
    .max_bits_per_key = ribbon::kMaxBitsPerKey,
    .min_rate = 2.5e-8 / 100,  // as a spec in percent reads it; above 2^-32
    .probe_ns = 8,
    .bits_per_halving = 1.0015,
    .extra_bits = 0.035,
    .most_part_growth = 1,
    .part_keys = 64,
    .most_compact_keys = ribbon::kMostCompactKeys,
    .has_columns = true,
    .expected_payload_bits =
        [](uint64_t keys, const Budget& budget) {
          return ribbon::ExpectedPayloadBits(keys, ribbon::PlanFor(keys, budget));
        },
    .expected_rate =
        [](uint64_t keys, const Budget& budget) {
          return keys == 0 ? 0 : ribbon::ExpectedRate(keys, ribbon::PlanFor(keys, budget));
        },
    .build =
        [](HashList hashes, const Budget& budget, size_t head_room, size_t tail_room) {
          const ribbon::Plan plan = ribbon::PlanFor(hashes.size(), budget);
          return ribbon::Build(std::move(hashes), plan, head_room, tail_room);
        },
    .open = [](const FilterBlockInfo& info) { return ribbon::Open(info); },
    .rate_of_block = RateOfRibbon,
    .saturated_fraction =
        [](const FilterBlockInfo& info) {
          return info.key_count > 0 && ribbon::FormOf(info) == ribbon::Form::kMatchAll ? 1.0 : 0.0;
        },
    .describe = DescribeRibbon,
};

}  // namespace rocksieve
