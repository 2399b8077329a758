// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/positions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/parity.h"

namespace rocksieve::pinsketch {

CellTable::CellTable(std::span<const uint64_t> hashes, uint32_t groups, int field_bits)
    : begin_(size_t{groups} + 1), entries_(hashes.size()) {
  if (hashes.empty()) return;
  // begin_[g + 1] is where the next entry of group g goes, and its end at last.
  for (const uint64_t hash : hashes) begin_[CellOf(hash, groups, field_bits).group + 1]++;
  uint32_t begin = 0;
  for (uint32_t group = 0; group < groups; group++) {
    const uint32_t size = begin_[group + 1];
    begin_[group + 1] = begin;
    begin += size;
  }
  for (size_t i = 0; i < hashes.size(); i++) {
    const Cell cell = CellOf(hashes[i], groups, field_bits);
    entries_[begin_[cell.group + 1]++] = {cell.id, static_cast<uint32_t>(i)};
  }
}

void GroupCells::Take(std::span<const CellEntry> entries) {
  ForEachTouched([this](size_t word) {
    counts_[word] = {};
    named_[word] = 0;
  });
  // Where most words will have bits, it is quicker to look at all of them.
  const bool touches_all = entries.size() >= counts_.size() / 2;
  if (touches_all) {
    std::fill(touched_.begin(), touched_.end(), ~uint64_t{0});
    if (counts_.size() % 64 != 0) touched_.back() = (uint64_t{1} << (counts_.size() % 64)) - 1;
    for (const CellEntry& entry : entries) Add(entry.id);
    return;
  }
  std::fill(touched_.begin(), touched_.end(), 0);
  for (const CellEntry& entry : entries) {
    Add(entry.id);
    Touch(entry.id);
  }
}

namespace {

constexpr int kLeastRawLevels = 8, kMostRawLevels = 13;
constexpr double kDifferencesPerGroup = 20;  // at most
constexpr int kFewerBits = 2;                // than with the most differences per group
constexpr double kWrongDecodings = 0.003;    // expected in a sketch, at the first attempt
constexpr uint64_t kGroupBytes = 128;        // of a group, apart from its sums
constexpr uint64_t kUnknownBytes = 256;      // of a row of the band that is solved (parity.cc)
constexpr double kLevelsUntil = 0.1;         // expected groups that need a level

Plan PlanWith(int field_bits, double differences, double per_group) {
  Plan plan;
  plan.field_bits = field_bits;
  plan.groups = static_cast<uint32_t>(
      std::clamp(std::round(differences / per_group), 1.0, double{UINT32_MAX}));
  const double groups = plan.groups, mean = differences / groups;
  if (plan.groups < kFewGroups) {
    plan.raw_levels = RawLevelsWithoutParity(mean);
    return plan;
  }
  plan.raw_levels = RawLevels(groups, mean, kLeastRawLevels, kWrongDecodings);
  for (int level = plan.raw_levels + 1; level <= kMostLevels; level++) {
    const double needing = groups * PoissonAtLeast(mean, level);
    if (needing < kLevelsUntil) break;
    plan.parity_symbols.push_back(std::min(plan.groups, SymbolsForExpected(needing)));
  }
  return plan;
}

}  // namespace

double PoissonAtLeast(double mean, int n) {
  double term = std::exp(-mean), below = 0;
  for (int i = 0; i < n; i++) {
    below += term;
    term *= mean / (i + 1);
  }
  if (below < 0.999) return 1 - below;
  double above = 0;  // of small numbers, without cancellation
  for (int i = n; i < n + 200 && term > 0; i++) {
    above += term;
    term *= mean / (i + 1);
  }
  return above;
}

// A decoding with t sums is wrong about once in t! attempts on too many ids.
int RawLevels(double groups, double per_group, int least, double wrong_decodings) {
  double attempts_per_wrong = 1;
  int t = 1;
  while (t < least) attempts_per_wrong *= ++t;
  while (t < kMostRawLevels &&
         groups * PoissonAtLeast(per_group, t + 1) / attempts_per_wrong > wrong_decodings) {
    attempts_per_wrong *= ++t;
  }
  return std::max(t, std::min(kMostRawLevels, static_cast<int>(0.8 * per_group)));
}

int RawLevelsWithoutParity(double per_group) {
  const double enough = per_group + 3 * std::sqrt(per_group) + 2;
  return std::clamp(static_cast<int>(std::ceil(enough)), 1, kMostLevels / 2);
}

uint64_t Plan::SketchBytes() const {
  uint64_t numbers = uint64_t{groups} * static_cast<uint64_t>(raw_levels);
  for (uint32_t symbols : parity_symbols) numbers += symbols;
  return (numbers * static_cast<uint64_t>(field_bits) + uint64_t{Checks()} * kCheckBits + 7) / 8;
}

uint64_t Plan::MemoryBytes() const {
  // Sums, and registers of what is not decoded, ids of what is, and vectors around them.
  const uint64_t sums = 5 * static_cast<uint64_t>(Levels()) + 2 * static_cast<uint64_t>(raw_levels);
  uint64_t most_symbols = 0;
  for (const uint32_t symbols : parity_symbols) {
    most_symbols = std::max<uint64_t>(most_symbols, symbols);
  }
  return uint64_t{groups} * (sums * sizeof(uint32_t) + kGroupBytes) + most_symbols * kUnknownBytes;
}

void Plan::Write(ByteWriter* out) const {
  out->U8(static_cast<uint8_t>(field_bits));
  out->Varint(groups);
  out->U8(static_cast<uint8_t>(raw_levels));
  out->U8(static_cast<uint8_t>(parity_symbols.size()));
  for (uint32_t symbols : parity_symbols) out->Varint(symbols);
}

bool Plan::Read(ByteReader* in) {
  field_bits = in->U8();
  groups = static_cast<uint32_t>(in->Varint(UINT32_MAX));
  raw_levels = in->U8();
  const int parity_levels = in->U8();
  parity_symbols.clear();
  if (field_bits < Field::kLeastBits || field_bits > Field::kMostBits || groups == 0 ||
      raw_levels < 1 || raw_levels + parity_levels > kMostLevels) {
    in->Fail();
    return false;
  }
  for (int i = 0; i < parity_levels; i++) {
    parity_symbols.push_back(static_cast<uint32_t>(in->Varint(groups)));
  }
  return in->ok();
}

Plan MakePlan(double keys, double differences, double cells_per_key_log2) {
  keys = std::clamp(keys, 1.0, 0x1p40);
  differences = std::clamp(differences, 1.0, 2 * keys);
  const double cells_per_difference_log2 = std::log2(keys / differences) + cells_per_key_log2;
  const int most_bits = std::clamp(
      static_cast<int>(std::floor(cells_per_difference_log2 + std::log2(kDifferencesPerGroup))),
      Field::kLeastBits, Field::kMostBits);
  // The same number of cells in larger groups of fewer bits or smaller groups of more: no formula
  // is as good as trying.
  Plan best;
  for (int bits = std::max(Field::kLeastBits, most_bits - kFewerBits); bits <= most_bits; bits++) {
    const double per_group =
        std::clamp(std::exp2(bits - cells_per_difference_log2), 0.5, kDifferencesPerGroup);
    Plan plan = PlanWith(bits, differences, per_group);
    if (best.groups == 0 || plan.SketchBytes() < best.SketchBytes()) best = std::move(plan);
  }
  return best;
}

namespace {

constexpr double kMostPerGroup = 20;  // differences
constexpr uint32_t kMostMean16ths = 640;
constexpr int kLeastPositionRawLevels = 2, kMostRawLevelsOfAll = kMostLevels / 2;
// What is not decoded is no loss here, and rounds of more parity cost little.
constexpr double kWrongPositionDecodings = 0.02;
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
                          : RawLevels(groups, mean, kLeastPositionRawLevels, kWrongPositionDecodings);
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
