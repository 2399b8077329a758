#include "plugin/tables/decoded_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <rocksdb/filter_policy.h>

#include "lib/budget/builtin_model.h"
#include "lib/format/coding.h"
#include "plugin/rocksdb_abi.h"
#include "plugin/tables/legacy_bloom.h"
#include "plugin/tables/our_parameters.h"

namespace rocksieve {
namespace {

constexpr size_t kTrailerBytes = 5;
constexpr uint64_t kLineBytes = 64;
constexpr uint64_t kRibbonSegmentBytes = 16;  // a column of a block
constexpr int kMaxRibbonColumns = 32;
constexpr std::string_view kAlwaysTrueBlock("\0\0\0\0\0\0", 6);

uint8_t At(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

}  // namespace

// As GetBuiltinFilterBitsReader() in table/block_based/filter_policy.cc, RocksDB 7.8.
void DecodedFilter::DecodeBuiltin() {
  kind = BlockKind::kMatchesAll;
  if (block.size() <= kTrailerBytes) {
    kind = BlockKind::kEmpty;
    return;
  }
  if (block == kAlwaysTrueBlock) {
    kind = BlockKind::kNone;
    return;
  }
  const uint64_t payload_bytes = block.size() - kTrailerBytes;
  const std::string_view trailer = block.substr(payload_bytes);
  const auto marker = static_cast<int8_t>(At(trailer, 0));
  if (marker == -1) {
    probes = At(trailer, 2) & 31;
    const bool known = At(trailer, 1) == 0 && At(trailer, 2) >> 5 == 0 && At(trailer, 3) == 0 &&
                       At(trailer, 4) == 0 && probes >= 1 && probes <= 30;
    if (!known || payload_bytes < kLineBytes) return;
    kind = BlockKind::kBuiltinBloom;
    line_bytes = kLineBytes;
    lines = payload_bytes / kLineBytes;
  } else if (marker == -2) {
    seed = At(trailer, 1);
    ribbon_blocks = At(trailer, 2) | At(trailer, 3) << 8 | At(trailer, 4) << 16;
    const uint64_t segments = payload_bytes / kRibbonSegmentBytes;
    if (ribbon_blocks < 2 || segments == 0) return;
    kind = BlockKind::kBuiltinRibbon;
    const uint64_t most = (segments + ribbon_blocks - 1) / ribbon_blocks;
    columns = static_cast<int>(std::min<uint64_t>(most, kMaxRibbonColumns));
    if (most <= kMaxRibbonColumns) blocks_with_fewer_columns = most * ribbon_blocks - segments;
  } else if (marker >= 1) {
    lines = LoadLittleEndian32(trailer.data() + 1);
    if (lines == 0 || payload_bytes % lines != 0) return;
    line_bytes = payload_bytes / lines;
    if ((line_bytes & (line_bytes - 1)) != 0) return;
    kind = BlockKind::kLegacyBloom;
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
      filter.info = opened.info;
      filter.ours_ = std::move(opened.filter);
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

double DecodedFilter::PredictedRate(uint64_t keys) const {
  switch (kind) {
    case BlockKind::kOurs:
      return ExpectedFalsePositiveRate(info);
    case BlockKind::kBuiltinBloom:
    case BlockKind::kBuiltinRibbon:
      return BuiltinRate(block, keys);
    case BlockKind::kLegacyBloom:
      if (keys == 0) return 0;
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
      return OurFamilyName(info.family);
    case BlockKind::kBuiltinBloom:
      return "RocksDB Bloom";
    case BlockKind::kLegacyBloom:
      return "RocksDB legacy Bloom";
    case BlockKind::kBuiltinRibbon:
      return "RocksDB Ribbon";
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

std::string DecodedFilter::Parameters() const {
  switch (kind) {
    case BlockKind::kOurs:
      return OurParameters(info);
    case BlockKind::kBuiltinBloom:
    case BlockKind::kLegacyBloom:
      return std::to_string(probes) + " probes, " + std::to_string(lines) + " lines of " +
             std::to_string(line_bytes) + " bytes";
    case BlockKind::kBuiltinRibbon: {
      std::string text = std::to_string(columns) + " columns";
      if (blocks_with_fewer_columns > 0) {
        text = std::to_string(columns - 1) + " and " + text;
      }
      return text + ", " + std::to_string(ribbon_blocks) + " blocks of 128 slots, seed " +
             std::to_string(seed);
    }
    default:
      return "";
  }
}

}  // namespace rocksieve
