#include "filter/family.h"

#include <algorithm>
#include <utility>

#include "bloom/builder.h"
#include "bloom/model.h"
#include "bloom/reader.h"
#include "cuckoo/builder.h"
#include "cuckoo/model.h"
#include "cuckoo/reader.h"
#include "ribbon/builder.h"
#include "ribbon/model.h"
#include "ribbon/reader.h"

namespace rocksieve {
namespace {

double BloomExpectedPayloadBits(uint64_t keys, const Budget& budget) {
  return 8.0 * static_cast<double>(bloom::PayloadBytes(bloom::PlanFor(keys, budget)));
}

double BloomExpectedRate(uint64_t keys, const Budget& budget) {
  return bloom::FalsePositiveRate(bloom::PlanFor(keys, budget), keys);
}

std::unique_ptr<char[]> BloomBuild(const HashList& hashes, const Budget& budget, size_t head_room,
                                   size_t tail_room, size_t* payload_bytes, uint8_t* parameter) {
  const bloom::Plan plan = bloom::PlanFor(hashes.size(), budget);
  *payload_bytes = bloom::PayloadBytes(plan);
  *parameter = static_cast<uint8_t>(plan.probes | (plan.thorough ? bloom::kThoroughFlag : 0));
  std::unique_ptr<char[]> data(new char[head_room + *payload_bytes + tail_room]);
  bloom::Build(hashes, plan, reinterpret_cast<uint8_t*>(data.get() + head_room));
  return data;
}

std::unique_ptr<Filter> BloomOpen(const FilterBlockInfo& info) { return bloom::Open(info); }

double BloomRateOfBlock(const FilterBlockInfo& info) {
  const bloom::Plan plan = {info.payload.size() / bloom::kLineBytes, bloom::ProbesOf(info),
                            bloom::IsThorough(info)};
  return bloom::FalsePositiveRate(plan, info.key_count);
}

// Any set of keys has a Bloom filter.
double BloomUnfilteredShare(const FilterBlockInfo&) { return 0; }

double CuckooExpectedPayloadBits(uint64_t keys, const Budget& budget) {
  return cuckoo::ExpectedPayloadBits(keys, cuckoo::PlanFor(keys, budget));
}

double CuckooExpectedRate(uint64_t keys, const Budget& budget) {
  if (keys == 0) return 0;
  const cuckoo::Plan plan = cuckoo::PlanFor(keys, budget);
  const double load = static_cast<double>(keys) / cuckoo::ExpectedSlots(keys, plan);
  return cuckoo::FalsePositiveRate(plan.fingerprint_bits, plan.wide_share, load);
}

std::unique_ptr<char[]> CuckooBuild(const HashList& hashes, const Budget& budget, size_t head_room,
                                    size_t tail_room, size_t* payload_bytes, uint8_t* parameter) {
  const cuckoo::Plan plan = cuckoo::PlanFor(hashes.size(), budget);
  cuckoo::Payload payload = cuckoo::Build(hashes, plan, head_room, tail_room);
  *payload_bytes = payload.size;
  *parameter = static_cast<uint8_t>(plan.fingerprint_bits);
  return std::move(payload.data);
}

std::unique_ptr<Filter> CuckooOpen(const FilterBlockInfo& info) { return cuckoo::Open(info); }

double CuckooRateOfBlock(const FilterBlockInfo& info) {
  cuckoo::Table table;
  if (info.key_count == 0 || !cuckoo::ParseTable(info, &table)) return 0;
  const double slots = table.Offset(table.shards);
  const double wide = slots > table.first_wide_slot ? slots - table.first_wide_slot : 0;
  // A block may claim any number of keys.
  const double load = std::min(static_cast<double>(info.key_count) / slots, 1.0);
  const double unfiltered = cuckoo::UnfilteredShare(table);
  return unfiltered +
         (1 - unfiltered) * cuckoo::FalsePositiveRate(table.fingerprint_bits, wide / slots, load);
}

double CuckooUnfilteredShare(const FilterBlockInfo& info) {
  cuckoo::Table table;
  return info.key_count > 0 && cuckoo::ParseTable(info, &table) ? cuckoo::UnfilteredShare(table)
                                                                : 0;
}

double RibbonExpectedPayloadBits(uint64_t keys, const Budget& budget) {
  return ribbon::ExpectedPayloadBits(keys, ribbon::PlanFor(keys, budget));
}

double RibbonExpectedRate(uint64_t keys, const Budget& budget) {
  return keys == 0 ? 0 : ribbon::ExpectedRate(keys, ribbon::PlanFor(keys, budget));
}

std::unique_ptr<char[]> RibbonBuild(const HashList& hashes, const Budget& budget, size_t head_room,
                                    size_t tail_room, size_t* payload_bytes, uint8_t* parameter) {
  const ribbon::Plan plan = ribbon::PlanFor(hashes.size(), budget);
  ribbon::Payload payload = ribbon::Build(hashes, plan, head_room, tail_room);
  *payload_bytes = payload.size;
  *parameter = payload.parameter;
  return std::move(payload.data);
}

std::unique_ptr<Filter> RibbonOpen(const FilterBlockInfo& info) { return ribbon::Open(info); }

double RibbonRateOfBlock(const FilterBlockInfo& info) {
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

double RibbonUnfilteredShare(const FilterBlockInfo& info) {
  return info.key_count > 0 && ribbon::FormOf(info) == ribbon::Form::kMatchAll ? 1 : 0;
}

constexpr FamilyEntry kFamilies[] = {
    {Family::kBloom, "bloom", bloom::kMinBitsPerKey, bloom::kMaxBitsPerKey,
     BloomExpectedPayloadBits, BloomExpectedRate, BloomBuild, BloomOpen, BloomRateOfBlock,
     BloomUnfilteredShare},
    {Family::kCuckoo, "cuckoo", cuckoo::kMinBitsPerKey, cuckoo::kMaxBitsPerKey,
     CuckooExpectedPayloadBits, CuckooExpectedRate, CuckooBuild, CuckooOpen, CuckooRateOfBlock,
     CuckooUnfilteredShare},
    {Family::kRibbon, "ribbon", ribbon::kMinBitsPerKey, ribbon::kMaxBitsPerKey,
     RibbonExpectedPayloadBits, RibbonExpectedRate, RibbonBuild, RibbonOpen, RibbonRateOfBlock,
     RibbonUnfilteredShare},
};

}  // namespace

const FamilyEntry* FindFamily(std::string_view name) {
  for (const FamilyEntry& entry : kFamilies) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

const FamilyEntry* FindFamily(Family family) {
  for (const FamilyEntry& entry : kFamilies) {
    if (entry.family == family) return &entry;
  }
  return nullptr;
}

std::string_view FamilyNames() { return "bloom, cuckoo, ribbon"; }

}  // namespace rocksieve
