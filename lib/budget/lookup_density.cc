// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/lookup_density.h"

#include <algorithm>
#include <utility>

#include "lib/budget/key_cells.h"

namespace rocksieve {
namespace {

// A block is taken to be read for one false positive in so many at least, whatever was seen.
constexpr double kLeastReadShare = 1.0 / 64;
// They tell more of other false positives than keys that were found: those may all be in few
// blocks.
constexpr double kFalsePositiveWeight = 4;

std::vector<std::string_view> DistinctKeys(const std::vector<std::string>& keys) {
  std::vector<std::string_view> distinct(keys.begin(), keys.end());
  if (!std::is_sorted(distinct.begin(), distinct.end())) {
    std::sort(distinct.begin(), distinct.end());
  }
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  return distinct;
}

Bins Sum(const std::vector<Bins>& all) {
  Bins sum(kDensityBins);
  for (const Bins& bins : all) {
    for (size_t i = 0; i < kDensityBins; i++) sum[i] += bins[i];
  }
  return sum;
}

}  // namespace

LookupDensity::LookupDensity(const std::vector<BudgetedFile>& files)
    : scale_({}), density_(kDensityBins, 1) {
  const KeyCells cells(files);
  scale_ = cells.scale();
  const std::vector<double> before = cells.EntriesBefore(files);
  size_t cell = 0;
  for (size_t i = 0; i <= kDensityBins; i++) {
    const double wanted = before.back() * static_cast<double>(i) / kDensityBins;
    while (cell + 1 < cells.count() && before[cell + 1] < wanted) cell++;
    const double entries = before[cell + 1] - before[cell];
    const double share = entries > 0 ? std::min(1.0, (wanted - before[cell]) / entries) : 0;
    ends_[i] = cells.begin(cell) + share * cells.width(cell);
    sums_[i] = static_cast<double>(i);
  }
}

double LookupDensity::PlaceOf(std::string_view key) const {
  const double position = scale_.PositionOf(key);
  if (position <= ends_.front()) return 0;
  if (position >= ends_.back()) return kDensityBins;
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), position);
  return static_cast<double>(end - ends_.begin() - 1) + (position - end[-1]) / (end[0] - end[-1]);
}

void LookupDensity::Count(std::string_view key, double weight, Bins* counts) const {
  (*counts)[std::min(static_cast<size_t>(PlaceOf(key)), kDensityBins - 1)] += weight;
}

double LookupDensity::SumBefore(double bins) const {
  const auto bin = std::min(static_cast<size_t>(bins), kDensityBins - 1);
  return sums_[bin] + density_[bin] * (bins - static_cast<double>(bin));
}

double LookupDensity::Between(double begin, double end) const {
  // Cells of no width, or next to none.
  constexpr double kNarrow = 1e-6;
  if (end - begin < kNarrow)
    return density_[std::min(static_cast<size_t>(begin), kDensityBins - 1)];
  return (SumBefore(end) - SumBefore(begin)) / (end - begin);
}

std::shared_ptr<const LookupDensity> LookupDensity::Learn(
    const std::vector<BudgetedFile>& files, const std::deque<HeardLookups>& stretches) {
  if (files.empty() || stretches.empty()) return nullptr;
  std::shared_ptr<LookupDensity> density(new LookupDensity(files));
  std::vector<Bins> asked;
  Bins accesses(kDensityBins), reads(kDensityBins);
  for (const HeardLookups& heard : stretches) {
    asked.emplace_back(kDensityBins);
    for (const std::string_view key : DistinctKeys(heard.absent_keys)) {
      density->Count(key, 1, &asked.back());
    }
    for (const HeardLookups::Passed& passed : heard.passed) {
      const double weight = passed.was_found ? 1 : kFalsePositiveWeight;
      density->Count(passed.key, weight, &accesses);
      if (passed.was_read) density->Count(passed.key, weight, &reads);
    }
  }
  const Bins all_asked = Sum(asked);
  const Bins read_share = ReadShare(reads, accesses);
  for (Bins& bins : asked) {
    for (size_t i = 0; i < kDensityBins; i++) bins[i] *= std::max(kLeastReadShare, read_share[i]);
  }
  density->density_ = BestDensity(asked);
  Bins& bins = density->density_;
  if (std::all_of(bins.begin(), bins.end(), [](double value) { return value == 1; })) {
    return nullptr;
  }
  // Nothing has fewer than even bits for being in the block cache: it may not stay there.
  const Bins often = SmoothDensity(all_asked);
  for (size_t i = 0; i < kDensityBins; i++) {
    bins[i] = std::max(bins[i], std::min(1.0, often[i]));
    density->sums_[i + 1] = density->sums_[i] + bins[i];
  }
  return density;
}

}  // namespace rocksieve
