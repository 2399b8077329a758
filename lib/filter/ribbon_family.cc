// The ribbon family behind the common door.
#include <utility>

#include "lib/filter/family.h"
#include "lib/ribbon/builder.h"
#include "lib/ribbon/model.h"
#include "lib/ribbon/reader.h"

namespace rocksieve {
namespace {

double ExpectedPayloadBits(uint64_t keys, const Budget& budget) {
  return ribbon::ExpectedPayloadBits(keys, ribbon::PlanFor(keys, budget));
}

double ExpectedRate(uint64_t keys, const Budget& budget) {
  return keys == 0 ? 0 : ribbon::ExpectedRate(keys, ribbon::PlanFor(keys, budget));
}

std::unique_ptr<char[]> Build(HashList hashes, const Budget& budget, size_t head_room,
                              size_t tail_room, size_t* payload_bytes, uint8_t* parameter) {
  const ribbon::Plan plan = ribbon::PlanFor(hashes.size(), budget);
  ribbon::Payload payload = ribbon::Build(std::move(hashes), plan, head_room, tail_room);
  *payload_bytes = payload.size;
  *parameter = payload.parameter;
  return std::move(payload.data);
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

double UnfilteredShare(const FilterBlockInfo& info) {
  return info.key_count > 0 && ribbon::FormOf(info) == ribbon::Form::kMatchAll ? 1 : 0;
}

}  // namespace

const FamilyEntry kRibbonFamily = {
    .family = Family::kRibbon,
    .name = "ribbon",
    .min_bits_per_key = ribbon::kMinBitsPerKey,
    .max_bits_per_key = ribbon::kMaxBitsPerKey,
    .min_rate = 2.5e-8 / 100,  // as a spec in percent reads it; above 2^-32
    .expected_payload_bits = ExpectedPayloadBits,
    .expected_rate = ExpectedRate,
    .build = Build,
    .open = Open,
    .rate_of_block = RateOfBlock,
    .unfiltered_share = UnfilteredShare,
};

}  // namespace rocksieve
