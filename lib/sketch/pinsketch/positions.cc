// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/positions.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/sketch/pinsketch/algebra.h"

namespace rocksieve::pinsketch {
namespace {

constexpr double kMostPerGroup = 20;  // differences
constexpr uint32_t kMostMean16ths = 640;
constexpr int kLeastRawLevels = 2, kMostRawLevelsOfAll = kMostLevels / 2;
// What is not decoded is no loss here, and rounds of more parity cost little.
constexpr double kWrongDecodings = 0.02;
constexpr size_t kTerms = 256;

}  // namespace

Plan PositionPlan::Made() const {
  Plan plan;
  plan.field_bits = field_bits;
  plan.groups = groups;
  plan.raw_levels = raw_levels;
  if (groups < kFewGroups) return plan;
  using Number = unsigned __int128;  // e^40 2^24 2^40 fits
  std::array<Number, kTerms> tail;
  tail[0] = Number{1} << 24;
  for (size_t i = 1; i < kTerms; i++) tail[i] = tail[i - 1] * mean_16ths / (16 * i);
  for (size_t i = kTerms - 1; i > 0; i--) tail[i - 1] += tail[i];
  for (int level = raw_levels + 1; level <= kMostLevels; level++) {
    const auto needing =  // in 256ths; exact in a double
        static_cast<uint64_t>(Number{256} * groups * tail[static_cast<size_t>(level)] / tail[0]);
    if (needing < 128) break;
    const auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(256 * needing)));
    const uint64_t symbols = (26 * needing / 25 + root + 1279) / 256;
    plan.parity_symbols.push_back(static_cast<uint32_t>(std::min<uint64_t>(groups, symbols)));
  }
  return plan;
}

void PositionPlan::Write(ByteWriter* out) const {
  out->U8(static_cast<uint8_t>(field_bits));
  out->Varint(groups);
  out->U8(static_cast<uint8_t>(raw_levels));
  out->Varint(mean_16ths);
}

bool PositionPlan::Read(ByteReader* in) {
  field_bits = in->U8();
  groups = static_cast<uint32_t>(in->Varint(UINT32_MAX));
  raw_levels = in->U8();
  mean_16ths = static_cast<uint32_t>(in->Varint(kMostMean16ths));
  if (field_bits < Field::kLeastBits || field_bits > Field::kMostBits || groups == 0 ||
      raw_levels < 1 || raw_levels > kMostRawLevelsOfAll) {
    in->Fail();
  }
  return in->ok();
}

PositionPlan MakePositionPlan(uint64_t positions, double differences) {
  const double all = std::max(1.0, static_cast<double>(positions));
  differences = std::clamp(differences, 0.1, all);
  PositionPlan best;
  uint64_t best_bytes = UINT64_MAX;
  for (int bits = Field::kLeastBits; bits <= Field::kMostBits; bits++) {
    PositionPlan plan;
    plan.field_bits = bits;
    const double groups =
        std::max(std::ceil(all / (std::exp2(bits) - 1)), std::round(differences / kMostPerGroup));
    plan.groups = static_cast<uint32_t>(groups);
    const double mean = differences / groups;
    plan.raw_levels = plan.groups < kFewGroups
                          ? RawLevelsWithoutParity(mean)
                          : RawLevels(groups, mean, kLeastRawLevels, kWrongDecodings);
    plan.mean_16ths = std::min(kMostMean16ths, static_cast<uint32_t>(std::lround(16 * mean)));
    const uint64_t bytes = plan.Made().SketchBytes();
    if (bytes >= best_bytes) continue;
    best = plan;
    best_bytes = bytes;
  }
  return best;
}

std::vector<uint64_t> Positions::HashesOf(std::span<const uint8_t> flags) const {
  // HashOf() of each group and each block's id apart: divisions for these, and not for positions.
  const auto groups = static_cast<uint32_t>(groups_);
  std::vector<uint64_t> of_group(groups);
  for (uint32_t group = 0; group < groups; group++) {
    of_group[group] = HashOf({group, 1}, groups, field_bits_);
  }
  const auto zeros = static_cast<size_t>(std::count(flags.begin(), flags.end(), 0));
  std::vector<uint64_t> hashes(flags.size() - zeros + 1);  // with one that comes after the last
  size_t next = 0;
  for (uint64_t block = 0, first = 0; first < flags.size(); block++, first += groups_) {
    const uint64_t of_block = HashOf({0, static_cast<uint32_t>(1 + block)}, groups, field_bits_);
    const uint64_t end = std::min<uint64_t>(groups_, flags.size() - first);
    uint64_t group = Begin(block);
    for (uint64_t place = 0; place < end; place++) {
      hashes[next] = of_group[group] | of_block;
      next += flags[first + place];  // 0 or 1: no branch, which nobody could foresee
      if (++group == groups_) group = 0;
    }
  }
  hashes.pop_back();
  return hashes;
}

}  // namespace rocksieve::pinsketch
