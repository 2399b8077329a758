// SPDX-License-Identifier: Apache-2.0
#include "lib/range/reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/ribbon/reader.h"

namespace rocksieve::range {
namespace {

class PrefixPart {
 public:
  PrefixPart(size_t depth, std::unique_ptr<Filter> cells)
      : depth_(depth), cells_(std::move(cells)) {}

  bool MayContain(std::string_view key) const {
    return cells_->MayContainHash(CellHash(key, depth_, cells_->salt()));
  }

  bool MayContainRange(std::string_view begin, std::string_view end) const {
    const CellSpan span = SpanOf(begin, end, depth_);
    if (!span.known || span.last - span.first >= kMostCells) return true;
    if (MayContain(begin)) return true;
    if (span.last == span.first) return false;
    std::array<char, kMaxDepth + kNumberBytes> cell{};
    const size_t lead = LeadBytes(depth_), number = depth_ - lead;
    begin.copy(cell.data(), lead);
    // The last number may be the greatest there is.
    for (uint64_t at = span.first; at != span.last;) {
      at++;
      for (size_t i = 0; i < number; i++) {
        cell[lead + i] = static_cast<char>(at >> (8 * (number - 1 - i)));
      }
      if (MayContain({cell.data(), depth_})) return true;
    }
    return false;
  }

 private:
  size_t depth_;
  std::unique_ptr<Filter> cells_;
};

class OrderPart {
 public:
  static bool Parse(const PartInfo& part, uint64_t salt, OrderPart* order) {
    if (!ParseCodes(part, &order->codes_)) return false;
    const char* const head = part.payload.data();
    const uint64_t block_bits = LoadLittleEndian64(head);
    order->is_exact_ = block_bits == 0;
    order->lead_hash_ = LoadLittleEndian64(head + 8);
    order->first_ = LoadLittleEndian64(head + 16);
    order->depth_ = part.depth;
    order->salt_ = salt;
    order->lead_bytes_ = LeadBytes(part.depth);
    order->empty_lead_hash_ = LeadHash({}, part.depth, salt);
    return order->is_exact_ || (block_bits == static_cast<uint64_t>(kBlockBits) &&
                                order->codes_.universe() > kBlockValues);
  }

  bool is_exact() const { return is_exact_; }
  bool MayContain(std::string_view key) const {
    const uint64_t lead_hash = LeadHashOf(key), number = NumberOf(key, depth_);
    if (is_exact_) return lead_hash == lead_hash_ && AnyExact(number, number);
    return AnyInBlock(lead_hash, number, number);
  }

  bool MayContainRange(std::string_view begin, std::string_view end) const {
    const CellSpan span = SpanOf(begin, end, depth_);
    if (!span.known) return true;
    const uint64_t lead_hash = LeadHashOf(begin);
    if (is_exact_) return lead_hash == lead_hash_ && AnyExact(span.first, span.last);
    const uint64_t first_block = span.first >> kBlockBits, last_block = span.last >> kBlockBits;
    if (last_block - first_block >= kMostBlocks) return true;
    uint64_t at = span.first;
    for (uint64_t block = first_block; block < last_block; block++) {
      const uint64_t end_of_block = (block << kBlockBits) + kBlockValues - 1;
      if (AnyInBlock(lead_hash, at, end_of_block)) return true;
      at = end_of_block + 1;
    }
    return AnyInBlock(lead_hash, at, span.last);
  }

 private:
  uint64_t LeadHashOf(std::string_view key) const {
    return lead_bytes_ == 0 ? empty_lead_hash_ : LeadHash(key, depth_, salt_);
  }

  bool AnyExact(uint64_t first, uint64_t last) const {
    if (last < first_) return false;
    const uint64_t from = std::max(first, first_) - first_;
    if (from >= codes_.universe()) return false;
    return codes_.AnyBetween(from, std::min(last - first_, codes_.universe() - 1));
  }

  bool AnyInBlock(uint64_t lead_hash, uint64_t first, uint64_t last) const {
    const uint64_t begin = CodeOfBlock(PlaceOf(lead_hash, first), codes_.universe());
    return codes_.AnyBetween(begin + first % kBlockValues, begin + last % kBlockValues);
  }

  CodeSet codes_;
  bool is_exact_ = false;
  size_t depth_ = 0, lead_bytes_ = 0;
  uint64_t lead_hash_ = 0, first_ = 0, salt_ = 0, empty_lead_hash_ = 0;
};

class RangeFilter final : public Filter {
 public:
  explicit RangeFilter(const FilterBlockInfo& info)
      : Filter(info.salt, AskHash),
        info_(info),
        smallest_head_(NumberAt(info.smallest, 0, kNumberBytes)) {}

  bool Open(const Parts& parts) {
    is_partition_ = parts.is_partition;
    bound_ = parts.bound;
    shortest_ = parts.shortest;
    for (const PartInfo& part : parts.parts) {
      if (part.kind == PartKind::kOrder) {
        if (!OrderPart::Parse(part, info_.salt, &order_)) return false;
        has_order_ = true;
        continue;
      }
      std::unique_ptr<Filter> ribbon = ribbon::Open(RibbonOf(part, info_));
      if (ribbon == nullptr) return false;
      if (part.kind == PartKind::kKeys) {
        keys_ = std::move(ribbon);
      } else {
        prefixes_.emplace_back(part.depth, std::move(ribbon));
      }
    }
    return true;
  }

  bool MayContain(std::string_view key) const override {
    // In the filters of RocksDB's tables it is not, whether it is there or not.
    if (key.empty()) return true;
    if (keys_ != nullptr && !keys_->MayContainHash(KeyHash(key))) return false;
    if (has_order_ && !order_.MayContain(key)) return false;
    for (const PrefixPart& part : prefixes_) {
      if (!part.MayContain(key)) return false;
    }
    return true;
  }

  bool MayContainRange(std::string_view begin, std::string_view end) const override {
    if (begin.empty()) return true;
    // Nearly always, the first eight bytes tell.
    const uint64_t end_head = NumberAt(end, 0, kNumberBytes);
    if (NumberAt(begin, 0, kNumberBytes) >= end_head && begin >= end) return true;
    // Keys of the next partition may be meant.
    if (is_partition_ && end > bound_) return true;
    if (end.size() <= shortest_ && end.back() == '\0') {
      // Of keys that are no shorter, the same are below it without the zeros at its end.
      while (!end.empty() && end.back() == '\0') end.remove_suffix(1);
      if (begin >= end) return false;
    }
    if (end_head <= smallest_head_ && end <= info_.smallest) return false;
    // What is exact refuses all that prefixes would.
    const bool order_first = has_order_ && order_.is_exact();
    if (order_first && !order_.MayContainRange(begin, end)) return false;
    for (const PrefixPart& part : prefixes_) {
      if (!part.MayContainRange(begin, end)) return false;
    }
    return !has_order_ || order_first || order_.MayContainRange(begin, end);
  }

  void MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const override {
    if (keys_ != nullptr) {
      keys_->MayContainHashes(hashes, count, may_contain);
    } else {
      std::fill(may_contain, may_contain + count, true);
    }
  }

 private:
  static bool AskHash(const Filter& filter, uint64_t hash) {
    const auto& self = static_cast<const RangeFilter&>(filter);
    return self.keys_ == nullptr || self.keys_->MayContainHash(hash);
  }

  const FilterBlockInfo info_;
  const uint64_t smallest_head_;
  bool is_partition_ = false;
  std::string_view bound_;
  size_t shortest_ = 0;
  std::vector<PrefixPart> prefixes_;
  bool has_order_ = false;
  OrderPart order_;
  std::unique_ptr<Filter> keys_;
};

}  // namespace

bool ParseParts(const FilterBlockInfo& info, Parts* parts) {
  const std::string_view payload = info.payload;
  if (payload.size() < kHeadBytes) return false;
  const size_t count = ByteAt(payload, 0), bound_bytes = ByteAt(payload, 2);
  const uint8_t flags = ByteAt(payload, 1);
  const size_t head = kHeadBytes + count * kPartHeadBytes + bound_bytes;
  if (count == 0 || count > kMaxParts || (flags & ~kFlagPartition) != 0 || payload.size() < head) {
    return false;
  }
  parts->is_partition = (flags & kFlagPartition) != 0;
  parts->shortest = ByteAt(payload, 3);
  parts->bound = payload.substr(head - bound_bytes, bound_bytes);
  parts->parts.clear();
  std::string_view rest = payload.substr(head);
  bool has_whole = false;
  for (size_t i = 0; i < count; i++) {
    const char* const at = payload.data() + kHeadBytes + i * kPartHeadBytes;
    PartInfo part;
    part.kind = static_cast<PartKind>(at[0]);
    part.depth = static_cast<uint8_t>(at[1]);
    part.parameter = static_cast<uint8_t>(at[2]);
    part.entries = LoadLittleEndian64(at + 8);
    const uint32_t bytes = LoadLittleEndian32(at + 4);
    const bool is_keys = part.kind == PartKind::kKeys;
    const bool is_known =
        is_keys || part.kind == PartKind::kOrder || part.kind == PartKind::kPrefixes;
    // One part each of the latter two kinds, at the end.
    const bool is_in_place = part.kind == PartKind::kPrefixes ? !has_whole : i + 2 >= count;
    if (!is_known || !is_in_place || bytes > rest.size() || (part.depth == 0) != is_keys ||
        part.entries > info.key_count) {
      return false;
    }
    if (!parts->parts.empty() && parts->parts.back().kind >= part.kind &&
        part.kind != PartKind::kPrefixes) {
      return false;
    }
    has_whole = has_whole || part.kind != PartKind::kPrefixes;
    part.payload = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    parts->parts.push_back(part);
  }
  return rest.empty() && has_whole;
}

FilterBlockInfo RibbonOf(const PartInfo& part, const FilterBlockInfo& info) {
  FilterBlockInfo ribbon = info;
  ribbon.family = Family::kRibbon;
  ribbon.parameter = part.parameter;
  ribbon.key_count = part.entries;
  ribbon.payload = part.payload;
  return ribbon;
}

bool ParseCodes(const PartInfo& part, CodeSet* codes) {
  return part.payload.size() >= kOrderHeadBytes &&
         CodeSet::Parse(part.payload.substr(kOrderHeadBytes), codes);
}

std::unique_ptr<Filter> Open(const FilterBlockInfo& info) {
  Parts parts;
  if (!ParseParts(info, &parts)) return nullptr;
  auto filter = std::make_unique<RangeFilter>(info);
  return filter->Open(parts) ? std::move(filter) : nullptr;
}

}  // namespace rocksieve::range
