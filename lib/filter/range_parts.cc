// SPDX-License-Identifier: Apache-2.0
#include "lib/filter/range_parts.h"

#include <algorithm>
#include <cmath>

#include "lib/filter/family.h"
#include "lib/range/reader.h"

namespace rocksieve {
namespace {

RangePart Describe(const range::PartInfo& part, const FilterBlockInfo& info) {
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
  for (const range::PartInfo& part : parts.parts) parts_.push_back(Describe(part, info));
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
