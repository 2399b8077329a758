// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/decoded_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <rocksdb/filter_policy.h>

#include "lib/format/block.h"
#include "lib/format/coding.h"
#include "plugin/rocksdb_abi.h"
#include "plugin/tables/builtin_model.h"

namespace rocksieve {
namespace {

constexpr uint64_t kRibbonSegmentBytes = 16;  // a column of a block
constexpr int kMaxRibbonColumns = 32;
constexpr std::string_view kAlwaysTrueBlock("\0\0\0\0\0\0", 6);

std::string NameOfFamily(Family family) {
  const FamilyEntry* const ours = FindFamily(family);
  return ours == nullptr ? std::string(BuiltinFamilyName(family))
                         : "rocksieve." + std::string(ours->name);
}

}  // namespace

// As GetBuiltinFilterBitsReader() in table/block_based/filter_policy.cc, RocksDB 7.8.
void DecodedFilter::DecodeBuiltin() {
  kind = BlockKind::kMatchesAll;
  if (block.size() <= kBuiltinTrailerBytes) {
    kind = BlockKind::kEmpty;
    return;
  }
  if (block == kAlwaysTrueBlock) {
    kind = BlockKind::kNone;
    return;
  }
  const uint64_t payload_bytes = block.size() - kBuiltinTrailerBytes;
  const std::string_view trailer = block.substr(payload_bytes);
  const auto marker = static_cast<int8_t>(ByteAt(trailer, 0));
  if (marker == -1) {
    probes = ByteAt(trailer, 2) & 31;
    const bool known = ByteAt(trailer, 1) == 0 && ByteAt(trailer, 2) >> 5 == 0 &&
                       ByteAt(trailer, 3) == 0 && ByteAt(trailer, 4) == 0 && probes >= 1 &&
                       probes <= 30;
    if (!known || payload_bytes < kBuiltinBloomLineBytes) return;
    kind = BlockKind::kRocksDb;
    family = rocksieve::Family::kRocksDbBloom;
    line_bytes = kBuiltinBloomLineBytes;
    lines = payload_bytes / kBuiltinBloomLineBytes;
  } else if (marker == -2) {
    seed = ByteAt(trailer, 1);
    ribbon_blocks = ByteAt(trailer, 2) | ByteAt(trailer, 3) << 8 | ByteAt(trailer, 4) << 16;
    const uint64_t segments = payload_bytes / kRibbonSegmentBytes;
    if (ribbon_blocks < 2 || segments == 0) return;
    kind = BlockKind::kRocksDb;
    family = rocksieve::Family::kRocksDbRibbon;
    const uint64_t most = (segments + ribbon_blocks - 1) / ribbon_blocks;
    columns = static_cast<int>(std::min<uint64_t>(most, kMaxRibbonColumns));
    if (most <= kMaxRibbonColumns) blocks_with_fewer_columns = most * ribbon_blocks - segments;
  } else if (marker >= 1) {
    lines = LoadLittleEndian32(trailer.data() + 1);
    if (lines == 0 || payload_bytes % lines != 0) return;
    line_bytes = payload_bytes / lines;
    if ((line_bytes & (line_bytes - 1)) != 0) return;
    kind = BlockKind::kRocksDb;
    family = rocksieve::Family::kRocksDbLegacyBloom;
    probes = marker;
  }
  if (kind == BlockKind::kMatchesAll) return;
  static const rocksdb::FilterPolicy* const policy = rocksdb::NewBloomFilterPolicy(10);
  builtin_.reset(policy->GetFilterBitsReader(rocksdb::Slice(block.data(), block.size())));
}

DecodedFilter DecodedFilter::Decode(std::string_view block, std::string_view stored_name) {
  DecodedFilter filter;
  filter.block = block;
  OpenedFilter opened = OpenFilter(block);
  switch (opened.state) {
    case BlockState::kIntact:
      filter.kind = BlockKind::kOurs;
      filter.family = opened.info.family;
      filter.info = opened.info;
      filter.ours_ = std::move(opened.filter);
      filter.parts_ = RangeParts(opened.info);
      break;
    case BlockState::kDamaged:
      filter.kind = BlockKind::kDamaged;
      break;
    case BlockState::kFutureVersion:
      filter.kind = BlockKind::kFutureVersion;
      break;
    case BlockState::kForeign:
      if (stored_name == kBuiltinStoredName) {
        filter.DecodeBuiltin();
      } else if (stored_name == kOwnStoredName) {
        filter.kind = BlockKind::kDamaged;  // nobody else writes under our name
      }
      break;
  }
  return filter;
}

bool DecodedFilter::MayContain(std::string_view key) const {
  if (ours_ != nullptr) return ours_->MayContain(key);
  if (builtin_ != nullptr) return builtin_->MayMatch(rocksdb::Slice(key.data(), key.size()));
  return kind != BlockKind::kEmpty;
}

bool DecodedFilter::MayContainRange(std::string_view begin, std::string_view end) const {
  return ours_ != nullptr ? ours_->MayContainRange(begin, end) : kind != BlockKind::kEmpty;
}

double DecodedFilter::PredictedRangeRate(const EmptyRange& range) const {
  return kind == BlockKind::kEmpty ? 0 : parts_.PassRate(range);
}

double DecodedFilter::PredictedRate(uint64_t keys) const {
  switch (kind) {
    case BlockKind::kOurs:
      return ExpectedFalsePositiveRate(info);
    case BlockKind::kRocksDb:
      if (keys == 0) return 0;
      if (family == rocksieve::Family::kRocksDbBloom) {
        return RocksDbBloomRate(probes, static_cast<double>(lines), static_cast<double>(keys));
      }
      if (family == rocksieve::Family::kRocksDbRibbon) {
        return RocksDbRibbonRate(columns, static_cast<double>(ribbon_blocks),
                                 static_cast<double>(blocks_with_fewer_columns));
      }
      return LegacyBloomRate(static_cast<double>(keys), static_cast<double>(lines * line_bytes),
                             probes);
    case BlockKind::kEmpty:
      return 0;
    case BlockKind::kNone:
    case BlockKind::kMatchesAll:
    case BlockKind::kDamaged:
    case BlockKind::kFutureVersion:
      return 1;
    case BlockKind::kUnknown:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string DecodedFilter::Family() const {
  switch (kind) {
    case BlockKind::kOurs:
    case BlockKind::kRocksDb:
      return NameOfFamily(family);
    case BlockKind::kEmpty:
      return "empty";
    case BlockKind::kNone:
      return "none";
    case BlockKind::kMatchesAll:
      return "RocksDB, matches all";
    case BlockKind::kDamaged:
      return "damaged";
    case BlockKind::kFutureVersion:
      return "rocksieve, later version";
    case BlockKind::kUnknown:
      break;
  }
  return "unknown";
}

FilterDescription DecodedFilter::Describe() const {
  FilterDescription description;
  if (kind == BlockKind::kOurs) {
    if (info.key_count != 0 || !info.payload.empty()) return FindFamily(family)->describe(info);
    description.parameters = "no keys";
    return description;
  }
  if (kind != BlockKind::kRocksDb) return description;
  if (family == rocksieve::Family::kRocksDbRibbon) {
    const auto blocks = static_cast<double>(ribbon_blocks);
    const auto narrow = static_cast<double>(blocks_with_fewer_columns);
    description.parameters = (narrow > 0 ? std::to_string(columns - 1) + " and " : "") +
                             std::to_string(columns) + " columns, " +
                             std::to_string(ribbon_blocks) + " blocks of 128 slots, seed " +
                             std::to_string(seed);
    description.setting = {"columns", columns - narrow / blocks};
    description.place = "slot";
    description.places = kBuiltinRibbonBlockSlots * blocks;
  } else {
    description.parameters = std::to_string(probes) + " probes, " + std::to_string(lines) +
                             " lines of " + std::to_string(line_bytes) + " bytes";
    description.setting = {"probes", static_cast<double>(probes)};
    description.place = "line";
    description.places = static_cast<double>(lines);
  }
  return description;
}

FilterFill DecodedFilter::CountFill() const {
  if (kind == BlockKind::kOurs) {
    const auto count = FindFamily(family)->count_fill;
    return count == nullptr ? FilterFill() : count(info);
  }
  const uint64_t bytes = lines * line_bytes;
  if (bytes == 0) return {};
  uint64_t set = 0;
  for (uint64_t i = 0; i < bytes; i++) {
    set += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(block[i])));
  }
  return {"probe bits set", static_cast<double>(set) / (8 * static_cast<double>(bytes))};
}

FilterLoad DecodedFilter::Load(uint64_t entries) const {
  const FilterDescription description = Describe();
  if (description.place.empty()) return {};
  const auto keys = static_cast<double>(kind == BlockKind::kOurs ? info.key_count : entries);
  const FilterFill fill = CountFill();
  return {"keys per " + description.place, description.places == 0 ? 0 : keys / description.places,
          fill.of, fill.share};
}

double ReckonedFrameBytes(double key_bytes, bool compact) {
  // Of the two keys, the compact frame has what they share once.
  const FrameVersion version = compact ? FrameVersion::kCompact : FrameVersion::kFull;
  return static_cast<double>(FrameBytesWithoutRange(version, /*salted=*/false)) +
         (compact ? 1 : 2) * key_bytes;
}

}  // namespace rocksieve
