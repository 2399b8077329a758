// SPDX-License-Identifier: Apache-2.0
// The ribbon family behind the common door.
#include <cstdio>
#include <string>
#include <utility>

#include "lib/filter/family.h"
#include "lib/ribbon/builder.h"
#include "lib/ribbon/reader.h"

namespace rocksieve {
namespace {

double ExpectedPayloadBits(uint64_t keys, const Budget& budget) {
  return ribbon::ExpectedPayloadBits(keys, ribbon::PlanFor(keys, budget));
}

double ExpectedRate(uint64_t keys, const Budget& budget) {
  return keys == 0 ? 0 : ribbon::ExpectedRate(keys, ribbon::PlanFor(keys, budget));
}

Payload Build(HashList hashes, const Budget& budget, size_t head_room, size_t tail_room) {
  const ribbon::Plan plan = ribbon::PlanFor(hashes.size(), budget);
  return ribbon::Build(std::move(hashes), plan, head_room, tail_room);
}

std::unique_ptr<Filter> Open(const FilterBlockInfo& info) { return ribbon::Open(info); }

double RateOfBlock(const FilterBlockInfo& info) {
  const ribbon::Form form = ribbon::FormOf(info);
  ribbon::Table table;
  if (form == ribbon::Form::kMatchAll) return 1;
  if (form == ribbon::Form::kSmall) {
    return ribbon::FalsePositiveRate(ribbon::ColumnsOf(info.parameter), 0);
  }
  if (!ribbon::ParseTable(info, &table)) return 0;
  const ribbon::Width width = ribbon::WidthOf(table);
  return ribbon::FalsePositiveRate(width.columns, width.wide_share);
}

double SaturatedFraction(const FilterBlockInfo& info) {
  return info.key_count > 0 && ribbon::FormOf(info) == ribbon::Form::kMatchAll ? 1 : 0;
}

FilterDescription Describe(const FilterBlockInfo& info) {
  const int columns = ribbon::ColumnsOf(info.parameter);
  FilterDescription description;
  description.setting.unit = "columns";
  description.setting.value = columns;
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
    .expected_payload_bits = ExpectedPayloadBits,
    .expected_rate = ExpectedRate,
    .build = Build,
    .open = Open,
    .rate_of_block = RateOfBlock,
    .saturated_fraction = SaturatedFraction,
    .describe = Describe,
};

}  // namespace rocksieve
