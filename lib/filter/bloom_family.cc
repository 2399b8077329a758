// SPDX-License-Identifier: Apache-2.0
// The bloom family behind the common door.
#include <string>
#include <utility>

#include "lib/bloom/filter.h"
#include "lib/filter/family.h"
#include "lib/format/coding.h"

namespace rocksieve {
namespace {

double ExpectedPayloadBits(uint64_t keys, const Budget& budget) {
  return 8.0 * static_cast<double>(bloom::PayloadBytes(bloom::PlanFor(keys, budget)));
}

double ExpectedRate(uint64_t keys, const Budget& budget) {
  return bloom::FalsePositiveRate(bloom::PlanFor(keys, budget), keys);
}

Payload Build(HashList hashes, const Budget& budget, size_t head_room, size_t tail_room) {
  const bloom::Plan plan = bloom::PlanFor(hashes.size(), budget);
  return bloom::Build(std::move(hashes), plan, head_room, tail_room);
}

std::unique_ptr<Filter> Open(const FilterBlockInfo& info) { return bloom::Open(info); }

double RateOfBlock(const FilterBlockInfo& info) {
  const bloom::Plan plan = {info.payload.size() / bloom::kLineBytes,
                            bloom::ProbesOf(info.parameter), bloom::IsThorough(info.parameter)};
  return bloom::FalsePositiveRate(plan, info.key_count);
}

double RateOfLarge(double bits_per_key, bool thorough) {
  return bloom::FalsePositiveRateOfManyLines(bloom::ProbesFor(bits_per_key), thorough,
                                             8.0 * bloom::kLineBytes / bits_per_key);
}

double SaturatedFraction(const FilterBlockInfo&) { return 0; }

FilterDescription Describe(const FilterBlockInfo& info) {
  const size_t lines = info.payload.size() / bloom::kLineBytes;
  FilterDescription description;
  description.parameters = std::to_string(bloom::ProbesOf(info.parameter)) + " probes" +
                           (bloom::IsThorough(info.parameter) ? " (thorough)" : "") + ", " +
                           std::to_string(lines) + (lines == 1 ? " line" : " lines") +
                           " of 64 bytes";
  description.setting.unit = "probes";
  description.setting.value = bloom::ProbesOf(info.parameter);
  description.place = "line";
  description.places = static_cast<double>(lines);
  return description;
}

// The seeds of lanes are no probe bits; those of the eighth word are its top byte.
FilterFill CountFill(const FilterBlockInfo& info) {
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
    .line_bytes = bloom::kLineBytes,
    .expected_payload_bits = ExpectedPayloadBits,
    .expected_rate = ExpectedRate,
    .rate_of_large = RateOfLarge,
    .build = Build,
    .open = Open,
    .rate_of_block = RateOfBlock,
    .saturated_fraction = SaturatedFraction,
    .describe = Describe,
    .count_fill = CountFill,
};

}  // namespace rocksieve
