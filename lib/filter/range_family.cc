// SPDX-License-Identifier: Apache-2.0
// The range family behind the common door.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "lib/filter/family.h"
#include "lib/filter/range_parts.h"
#include "lib/range/builder.h"
#include "lib/range/reader.h"
#include "lib/ribbon/reader.h"

namespace rocksieve {
namespace {

// What a filter knows of order and prefixes costs lookups no more than so many bits per key, of
// numbers; of text, prefixes that many keys differ in cost more.
constexpr double kBitsBesideLookups = 2;

double BitsPerKey(const Budget& budget, uint64_t keys) {
  if (!budget.is_rate) return budget.PayloadBits(keys) / static_cast<double>(keys);
  return budget.factor * (std::log2(1 / budget.amount) + kBitsBesideLookups);
}

double ExpectedPayloadBits(uint64_t keys, const Budget& budget) {
  return keys == 0 ? 0 : BitsPerKey(budget, keys) * static_cast<double>(keys);
}

double ExpectedRate(uint64_t keys, const Budget& budget) {
  return keys == 0 ? 0 : std::exp2(std::min(0.0, kBitsBesideLookups - BitsPerKey(budget, keys)));
}

void TakeBudget(uint64_t keys, const Budget& budget, range::Request* request) {
  request->thorough = budget.thorough;
  // A little below the limit, since heads come on top.
  request->bits = std::min(ExpectedPayloadBits(keys, budget),
                           0.98 * 8.0 * static_cast<double>(kMaxPayloadBytes));
}

Payload Build(HashList hashes, const Budget& budget, size_t head_room, size_t tail_room) {
  if (hashes.empty()) {
    Payload payload;
    payload.data.reset(new char[head_room + tail_room]());
    return payload;
  }
  range::Request request;
  TakeBudget(hashes.size(), budget, &request);
  return range::BuildOfHashes(std::move(hashes), request, head_room, tail_room);
}

Payload BuildOfKeys(const range::KeyList& keys, const Budget& budget, range::Request request,
                    size_t head_room, size_t tail_room) {
  TakeBudget(keys.size(), budget, &request);
  return range::Build(keys, request, head_room, tail_room);
}

// Of lookups of keys whose prefixes are there.
double RateOfBlock(const FilterBlockInfo& info) {
  const RangeParts parts(info);
  if (parts.parts().empty()) return 0;
  double rate = 1;
  for (const RangePart& part : parts.parts()) {
    if (part.kind != "prefixes") rate *= part.rate;
  }
  return rate;
}

double SaturatedFraction(const FilterBlockInfo& info) {
  range::Parts parts;
  if (info.key_count == 0 || !range::ParseParts(info, &parts)) return 0;
  double fraction = 0;
  for (const range::PartInfo& part : parts.parts) {
    if (part.kind == range::PartKind::kOrder) return 0;
    fraction = kRibbonFamily.saturated_fraction(range::RibbonOf(part, info));
  }
  return fraction;
}

FilterDescription Describe(const FilterBlockInfo& info) {
  FilterDescription description;
  const RangeParts parts(info);
  for (const RangePart& part : parts.parts()) {
    const double bits = 8.0 * static_cast<double>(part.bytes) /
                        static_cast<double>(std::max<uint64_t>(1, part.entries));
    char text[96];
    if (part.kind == "prefixes") {
      std::snprintf(text, sizeof(text), "%llu prefixes of %zu bytes at %.1f bits",
                    static_cast<unsigned long long>(part.entries), part.depth, bits);
    } else if (part.kind == "order") {
      std::snprintf(text, sizeof(text), "%s order of %zu bytes at %.1f bits",
                    part.is_exact ? "exact" : "hashed", part.depth, bits);
    } else {
      std::snprintf(text, sizeof(text), "whole keys at %.1f bits", bits);
    }
    description.parameters += (description.parameters.empty() ? "" : ", ") + std::string(text);
  }
  return description;
}

}  // namespace

const FamilyEntry kRangeFamily = {
    .family = Family::kRange,
    .name = "range",
    .min_bits_per_key = 6,
    .max_bits_per_key = 32,
    .min_rate = 1e-8,
    .probe_ns = 50,
    .bits_per_halving = 1,
    .extra_bits = kBitsBesideLookups,
    .most_part_growth = 6,
    .part_keys = 64,
    .expected_payload_bits = ExpectedPayloadBits,
    .expected_rate = ExpectedRate,
    .build = Build,
    .build_of_keys = BuildOfKeys,
    .open = range::Open,
    .rate_of_block = RateOfBlock,
    .saturated_fraction = SaturatedFraction,
    .describe = Describe,
};

namespace {

RangePart PartOf(const range::PartInfo& part, const FilterBlockInfo& info) {
  RangePart described;
  described.depth = part.depth;
  described.entries = part.entries;
  described.bytes = part.payload.size();
  if (part.kind != range::PartKind::kOrder) {
    described.kind = part.kind == range::PartKind::kKeys ? "keys" : "prefixes";
    described.rate = kRibbonFamily.rate_of_block(range::RibbonOf(part, info));
    return described;
  }
  described.kind = "order";
  range::CodeSet codes;
  if (!range::ParseCodes(part, &codes)) return described;
  described.is_exact = part.payload[0] == 0;
  // A forged block may claim more codes than fit.
  described.rate =
      std::min(1.0, static_cast<double>(codes.codes()) / static_cast<double>(codes.universe()));
  return described;
}

// Whether no cell of the span is that of a neighbour of the range, and so that of no key.
bool IsEmpty(const range::CellSpan& span, const EmptyRange& range, size_t depth) {
  const size_t lead = range::LeadBytes(depth);
  return (!range::SameLead(range.before, range.begin, lead) ||
          range::NumberOf(range.before, depth) < span.first) &&
         (!range::SameLead(range.after, range.begin, lead) ||
          range::NumberOf(range.after, depth) > span.last);
}

}  // namespace

RangeParts::RangeParts(const FilterBlockInfo& info) {
  range::Parts parts;
  if (info.family != Family::kRange || !range::ParseParts(info, &parts)) return;
  is_partition_ = parts.is_partition;
  bound_ = parts.bound;
  smallest_ = info.smallest;
  for (const range::PartInfo& part : parts.parts) parts_.push_back(PartOf(part, info));
}

double RangeParts::PassRateOfPart(const RangePart& part, const EmptyRange& range) const {
  if (part.depth == 0) return 1;  // whole keys
  const range::CellSpan span = range::SpanOf(range.begin, range.end, part.depth);
  if (!span.known || !IsEmpty(span, range, part.depth)) return 1;
  if (part.is_exact) return 0;
  const bool is_order = part.kind == "order";
  const bool is_asked = is_order
                            ? (span.last >> range::kBlockBits) - (span.first >> range::kBlockBits) <
                                  range::kMostBlocks
                            : span.last - span.first < range::kMostCells;
  if (!is_asked) return 1;
  const double cells = static_cast<double>(span.last - span.first) + 1;
  return -std::expm1(cells * std::log1p(-std::min(part.rate, 1 - 1e-12)));
}

double RangeParts::PassRate(const EmptyRange& range) const {
  if (parts_.empty() || range.begin >= range.end) return 1;
  if (is_partition_ && range.end > bound_) return 1;
  if (range.end <= smallest_) return 0;
  double rate = 1;
  for (const RangePart& part : parts_) rate *= PassRateOfPart(part, range);
  return rate;
}

}  // namespace rocksieve
