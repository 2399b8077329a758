// The bloom family behind the common door.
#include <utility>

#include "lib/bloom/builder.h"
#include "lib/bloom/model.h"
#include "lib/bloom/reader.h"
#include "lib/filter/family.h"

namespace rocksieve {
namespace {

double ExpectedPayloadBits(uint64_t keys, const Budget& budget) {
  return 8.0 * static_cast<double>(bloom::PayloadBytes(bloom::PlanFor(keys, budget)));
}

double ExpectedRate(uint64_t keys, const Budget& budget) {
  return bloom::FalsePositiveRate(bloom::PlanFor(keys, budget), keys);
}

std::unique_ptr<char[]> Build(HashList hashes, const Budget& budget, size_t head_room,
                              size_t tail_room, size_t* payload_bytes, uint8_t* parameter) {
  const bloom::Plan plan = bloom::PlanFor(hashes.size(), budget);
  *payload_bytes = bloom::PayloadBytes(plan);
  *parameter = static_cast<uint8_t>(plan.probes | (plan.thorough ? bloom::kThoroughFlag : 0));
  std::unique_ptr<char[]> data(new char[head_room + *payload_bytes + tail_room]);
  bloom::Build(std::move(hashes), plan, reinterpret_cast<uint8_t*>(data.get() + head_room));
  return data;
}

std::unique_ptr<Filter> Open(const FilterBlockInfo& info) { return bloom::Open(info); }

double RateOfBlock(const FilterBlockInfo& info) {
  const bloom::Plan plan = {info.payload.size() / bloom::kLineBytes, bloom::ProbesOf(info),
                            bloom::IsThorough(info)};
  return bloom::FalsePositiveRate(plan, info.key_count);
}

double UnfilteredShare(const FilterBlockInfo&) { return 0; }

}  // namespace

const FamilyEntry kBloomFamily = {
    .family = Family::kBloom,
    .name = "bloom",
    .min_bits_per_key = bloom::kMinBitsPerKey,
    .max_bits_per_key = bloom::kMaxBitsPerKey,
    .min_rate = 1e-6,
    .expected_payload_bits = ExpectedPayloadBits,
    .expected_rate = ExpectedRate,
    .build = Build,
    .open = Open,
    .rate_of_block = RateOfBlock,
    .unfiltered_share = UnfilteredShare,
};

}  // namespace rocksieve
