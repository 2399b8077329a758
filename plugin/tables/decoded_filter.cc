// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/decoded_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include <rocksdb/filter_policy.h>

#include "lib/format/block.h"
#include "lib/format/coding.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {
namespace {

// At the end of each block: what it is.
constexpr size_t kBuiltinTrailerBytes = 5;
constexpr int kBuiltinRibbonBlockSlots = 128;
constexpr double kLineBits = 8 * kBuiltinBloomLineBytes;

// FastLocalBloomImpl::ChooseNumProbes()
int ProbesFor(double bits_per_key) {
  constexpr double kUpTo[] = {2.08,  3.58,   5.1,   6.64, 8.3,    10.07,
                              11.72, 14.001, 16.05, 18.3, 22.001, 25.501};
  int probes = 1;
  for (double up_to : kUpTo) {
    if (bits_per_key <= up_to) return probes;
    probes++;
  }
  return bits_per_key > 50 ? 24 : static_cast<int>((bits_per_key - 0.001) / 2) - 1;
}

// Probability of `hits` among `trials` if each has probability p.
double Binomial(double trials, double hits, double p) {
  return std::exp(std::lgamma(trials + 1) - std::lgamma(hits + 1) - std::lgamma(trials - hits + 1) +
                  hits * std::log(p) + (trials - hits) * std::log1p(-p));
}

// BloomMath::StandardFpRate()
double SimpleLineRate(int probes, double keys_in_line) {
  return std::pow(1 - std::exp(-probes * keys_in_line / kLineBits), probes);
}

// BloomMath::CacheLocalFpRate(): the mean of a crowded and of an uncrowded line.
double MeanOfCrowdedAndUncrowded(int probes, double keys_per_line) {
  const double deviation = std::sqrt(keys_per_line);
  return (SimpleLineRate(probes, keys_per_line + deviation) +
          SimpleLineRate(probes, std::max(0.0, keys_per_line - deviation))) /
         2;
}

double RateAsRocksDbEstimates(double bits_per_key) {
  return MeanOfCrowdedAndUncrowded(ProbesFor(bits_per_key), kLineBits / bits_per_key);
}

// How many keys so many slots of a Ribbon filter can take: 2^8, 2^9 .. 2^17 of them
// (ribbon_config.cc: one failure in 20 attempts, 128 coefficients, no smash); beyond, each doubling
// takes kRibbonGrowth more slots per key.
constexpr double kKeysInSlots[] = {248.851, 499.532, 1001.26, 2003.97, 4005.59,
                                   8000.39, 15966.6, 31828.1, 63447.3, 126506};
constexpr double kRibbonGrowth = 0.0038;
constexpr int kFirstLog2 = 8, kLastLog2 = kFirstLog2 + std::size(kKeysInSlots) - 1;
constexpr double kFewestRibbonSlots = 256;

double KeysIn(int log2_slots) {
  if (log2_slots <= kLastLog2) return kKeysInSlots[log2_slots - kFirstLog2];
  const double slots_per_key = std::ldexp(1 / kKeysInSlots[kLastLog2 - kFirstLog2], kLastLog2) +
                               kRibbonGrowth * (log2_slots - kLastLog2);
  return std::ldexp(1 / slots_per_key, log2_slots);
}

// GetNumSlots() and RoundUpNumSlots()
double RibbonSlots(double keys) {
  if (keys < kKeysInSlots[0]) return kFewestRibbonSlots;
  int below = kFirstLog2;
  while (KeysIn(below + 1) <= keys) below++;
  const double share = (keys - KeysIn(below)) / (KeysIn(below + 1) - KeysIn(below));
  const double slots = std::ceil(std::ldexp(1 + share, below));
  return kBuiltinRibbonBlockSlots * std::ceil(slots / kBuiltinRibbonBlockSlots);
}

// The rate of a Bloom filter of format_version 5 and later: the mean over the number of keys in a
// line.
double RocksDbBloomRate(int probes, double lines, double keys) {
  const double mean = keys / lines;
  // With so many keys each bit is set, as far as a double can tell; the sum would have no end.
  constexpr double kFull = 40;
  if (probes * mean > kFull * kLineBits) return 1;
  if (lines <= 1) return std::min(1.0, BuiltinBloomLineRate(probes, keys));
  const double reach = 10 * std::sqrt(mean) + 10;
  double rate = 0;
  for (double in_line = std::max(0.0, std::floor(mean - reach));
       in_line <= std::min(keys, mean + reach); in_line++) {
    rate += Binomial(keys, in_line, 1 / lines) * BuiltinBloomLineRate(probes, in_line);
  }
  return std::min(1.0, rate);
}

// The rate of a Ribbon filter, 2^-columns, whose first `lower` blocks have one column less. Keys
// begin at all slots but the last 127, so that these blocks serve a little more than their share.
double RocksDbRibbonRate(double columns, double blocks, double lower) {
  const double starts = kBuiltinRibbonBlockSlots * blocks - (kBuiltinRibbonBlockSlots - 1);
  const double lower_share = std::min(1.0, lower * kBuiltinRibbonBlockSlots / starts);
  return std::exp2(-columns) * (1 + lower_share);
}

// The rate of a Bloom filter of format_version 4 and earlier, of so many bytes without its trailer.
// LegacyLocalityBloomImpl::EstimatedFpRate(): the mean of a crowded and of an uncrowded line, a
// flaw of its positions, its hash of 32 bits. The estimate of the flaw there is meant for 50 bits
// per key and more, and up to a tenth of the rate too high below; the share of it that is real was
// measured with `rocksieve inspect` at 5 to 20 bits per key, and makes the rate right within 4 %.
double LegacyBloomRate(double keys, double bytes, int probes) {
  if (keys == 0) return 0;
  const double bits_per_key = 8 * bytes / keys;
  const double share_of_flaw = std::clamp((bits_per_key - 4) / 10, 0.0, 0.9);
  const double filter = MeanOfCrowdedAndUncrowded(probes, kLineBits / bits_per_key) +
                        share_of_flaw * 0.1 / (bits_per_key * 0.75 + 22);
  const double hash = 1 - std::exp(-keys * std::ldexp(1, -32));
  return std::min(1.0, filter + hash - filter * hash);
}

constexpr uint64_t kRibbonSegmentBytes = 16;  // a column of a block
constexpr int kMaxRibbonColumns = 32;
constexpr std::string_view kAlwaysTrueBlock("\0\0\0\0\0\0", 6);

// By BlockKind: what blocks without a family of their own are called, and their rate.
constexpr struct {
  const char* name;
  double rate;
} kKinds[] = {{nullptr, 0},
              {nullptr, 0},
              {"empty", 0},
              {"RocksDB, matches all", 1},
              {"unknown", std::numeric_limits<double>::quiet_NaN()},
              {"damaged", 1},
              {"rocksieve, later version", 1},
              {"none", 1}};

std::string NameOfFamily(Family family) {
  const FamilyEntry* const ours = FindFamily(family);
  return ours == nullptr ? std::string(BuiltinFamilyName(family))
                         : "rocksieve." + std::string(ours->name);
}

}  // namespace

std::string_view BuiltinFamilyName(Family family) {
  if (family == Family::kRocksDbBloom) return "RocksDB Bloom";
  if (family == Family::kRocksDbLegacyBloom) return "RocksDB legacy Bloom";
  return family == Family::kRocksDbRibbon ? "RocksDB Ribbon" : "";
}

// A missing key passes if all its probes find set bits. The share of set bits after so many throws
// has a known mean and variance, and the mean of its power is a little more than the power of its
// mean, the more so the more probes there are.
double BuiltinBloomLineRate(int probes, double keys_in_line) {
  if (keys_in_line == 0) return 0;
  const double throws = probes * keys_in_line;
  const double clear = std::pow(1 - 1 / kLineBits, throws);
  const double both_clear = std::pow(1 - 2 / kLineBits, throws);
  const double set = 1 - clear;
  const double variance = clear / kLineBits + (1 - 1 / kLineBits) * both_clear - clear * clear;
  return std::pow(set, probes) * (1 + probes * (probes - 1) / 2.0 * variance / (set * set));
}

BuiltinFilter BuiltinBloom(uint64_t keys, double bits_per_key) {
  if (keys == 0) return {};
  const auto count = static_cast<double>(keys);
  const double lines = std::ceil(bits_per_key * count / kLineBits);
  // The probes follow from the setting, whatever the size was rounded up to.
  return {lines * kLineBits / 8 + kBuiltinTrailerBytes,
          RocksDbBloomRate(ProbesFor(bits_per_key), lines, count)};
}

BuiltinFilter BuiltinRibbon(uint64_t keys, double bloom_equivalent_bits_per_key) {
  if (keys == 0) return {};
  const double slots = RibbonSlots(static_cast<double>(keys));
  const double wanted_rate = RateAsRocksDbEstimates(bloom_equivalent_bits_per_key);
  // Some blocks have one column less, so that the mean of both rates is at most the wanted one; the
  // number of these blocks is rounded down, or up if hashes want it so (InternalGetBytesForFpRate).
  const double columns = 1 + std::floor(std::log2(1 / wanted_rate));
  const double wanted_share = std::ldexp(wanted_rate, static_cast<int>(columns)) - 1;
  const double blocks = slots / kBuiltinRibbonBlockSlots;
  const double starts = slots - (kBuiltinRibbonBlockSlots - 1);
  const double lower = std::floor((wanted_share * starts + 0.5) / kBuiltinRibbonBlockSlots);
  const BuiltinFilter ribbon = {16 * (columns * blocks - lower) + kBuiltinTrailerBytes,
                                RocksDbRibbonRate(columns, blocks, lower)};
  constexpr double kFewSlots = 1024;
  if (slots >= kFewSlots) return ribbon;
  const BuiltinFilter bloom = BuiltinBloom(keys, bloom_equivalent_bits_per_key);
  return bloom.bytes < ribbon.bytes ? bloom : ribbon;
}

BuiltinFilter LegacyBloom(uint64_t keys, double bits_per_key) {
  if (keys == 0) return {kBuiltinTrailerBytes, 0};
  const double whole_bits = std::max(1.0, std::floor(bits_per_key + 0.5));
  const int probes = std::clamp(static_cast<int>(whole_bits * 0.69), 1, 30);
  const auto count = static_cast<double>(keys);
  auto lines = static_cast<uint64_t>(std::ceil(count * whole_bits / kLineBits));
  if (lines % 2 == 0) lines++;
  const double bytes = static_cast<double>(lines) * kLineBits / 8;
  return {bytes + kBuiltinTrailerBytes, LegacyBloomRate(count, bytes, probes)};
}

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
  if (opened.state == BlockState::kIntact) {
    filter.kind = BlockKind::kOurs;
    filter.family = opened.info.family;
    filter.info = opened.info;
    filter.ours_ = std::move(opened.filter);
    filter.parts_ = RangeParts(opened.info);
  } else if (opened.state == BlockState::kFutureVersion) {
    filter.kind = BlockKind::kFutureVersion;
  } else if (opened.state == BlockState::kDamaged || stored_name == kOwnStoredName) {
    filter.kind = BlockKind::kDamaged;  // nobody else writes under our name
  } else if (stored_name == kBuiltinStoredName) {
    filter.DecodeBuiltin();
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
  if (kind == BlockKind::kOurs) return ExpectedFalsePositiveRate(info);
  if (kind != BlockKind::kRocksDb) return kKinds[static_cast<size_t>(kind)].rate;
  if (keys == 0) return 0;
  const auto count = static_cast<double>(keys);
  if (family == rocksieve::Family::kRocksDbBloom) {
    return RocksDbBloomRate(probes, static_cast<double>(lines), count);
  }
  if (family == rocksieve::Family::kRocksDbRibbon) {
    return RocksDbRibbonRate(columns, static_cast<double>(ribbon_blocks),
                             static_cast<double>(blocks_with_fewer_columns));
  }
  return LegacyBloomRate(count, static_cast<double>(lines * line_bytes), probes);
}

std::string DecodedFilter::Family() const {
  const char* const name = kKinds[static_cast<size_t>(kind)].name;
  return name == nullptr ? NameOfFamily(family) : name;
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
