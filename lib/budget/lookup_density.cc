// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/lookup_density.h"

#include <algorithm>
#include <cmath>

#include "lib/budget/lookup_weights.h"

namespace rocksieve {
namespace {

// Of Krichevsky and Trofimov: half a sample for either half.
constexpr double kHalfPrior = 0.5;
// A share of accesses is that of so many bins on one side as well, whichever has the larger, and of
// so many reads more in each of them.
constexpr size_t kNeighbours = 6;
constexpr double kReadsBefore = 0.1;

// So many stretches a filter lives through; and so many are looked back at.
constexpr size_t kLifetime = 8;
constexpr size_t kLookBacks[] = {2, 16};
constexpr double kStrengths[] = {0.25, 0.5, 0.75, 1};
// A stretch tells more than the one before it.
constexpr double kForget = 0.85;
constexpr size_t kFewestStretches = 3;
// What would have cost more than this beside an even density is not worth the risk.
constexpr double kWorthwhile = 0.97;

// Nodes of the tree of halves: 1 is everything, 2 i and 2 i + 1 are the halves of i, and from
// kDensityBins on they are bins.
std::vector<double> SumsOf(const Bins& bins) {
  std::vector<double> sums(2 * kDensityBins);
  std::copy(bins.begin(), bins.end(), sums.begin() + kDensityBins);
  for (size_t i = kDensityBins - 1; i > 0; i--) sums[i] = sums[2 * i] + sums[2 * i + 1];
  return sums;
}

// lgamma() sets a global variable, signgam.
double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// The logarithm of the probability of the samples if the halves' shares are unknown, over that if
// they are equal.
double LogGainOfSplit(double left, double right) {
  static const double kLogPrior = 2 * LogGamma(kHalfPrior) - LogGamma(2 * kHalfPrior);
  return LogGamma(left + kHalfPrior) + LogGamma(right + kHalfPrior) -
         LogGamma(left + right + 2 * kHalfPrior) - kLogPrior + (left + right) * std::log(2);
}

}  // namespace

Bins SmoothDensity(const Bins& counts) {
  const std::vector<double> sums = SumsOf(counts);
  // Of the node's samples, over that if they are even in it; and the probability that it is split.
  std::vector<double> log_gain(2 * kDensityBins), split(2 * kDensityBins);
  for (size_t i = kDensityBins - 1; i > 0; i--) {
    split[i] = 0.5;
    if (sums[i] == 0) continue;  // both are as likely as before
    const double log_split =
        LogGainOfSplit(sums[2 * i], sums[2 * i + 1]) + log_gain[2 * i] + log_gain[2 * i + 1];
    // log(1/2 + exp(log_split)/2), without overflow.
    const double most = std::max(0.0, log_split);
    log_gain[i] = most + std::log((std::exp(-most) + std::exp(log_split - most)) / 2);
    split[i] = std::exp(log_split - log_gain[i]) / 2;
  }
  // Downwards, the density is that of what is even already, and of what is split further.
  std::vector<double> even(2 * kDensityBins), open(2 * kDensityBins);
  open[1] = 1;
  for (size_t i = 1; i < kDensityBins; i++) {
    const double total = sums[i] + 2 * kHalfPrior;
    for (const size_t half : {2 * i, 2 * i + 1}) {
      even[half] = even[i] + open[i] * (1 - split[i]);
      open[half] = open[i] * split[i] * 2 * (sums[half] + kHalfPrior) / total;
    }
  }
  Bins density(kDensityBins);
  for (size_t i = 0; i < kDensityBins; i++) {
    density[i] = even[kDensityBins + i] + open[kDensityBins + i];
  }
  return density;
}

Bins ReadShare(const Bins& reads, const Bins& accesses) {
  const auto share_of = [&](size_t begin, size_t end) {
    double hits = 0, all = 0;
    for (size_t i = begin; i < end; i++) {
      hits += reads[i] + kReadsBefore;
      all += accesses[i] + kReadsBefore;
    }
    return hits / all;
  };
  Bins share(kDensityBins);
  for (size_t i = 0; i < kDensityBins; i++) {
    share[i] = std::max(share_of(i - std::min(i, kNeighbours), i + 1),
                        share_of(i, std::min(kDensityBins, i + 1 + kNeighbours)));
  }
  return share;
}

namespace {

// Of all entries, the geometric one.
double MeanDensity(const Bins& density) {
  double log_sum = 0;
  for (const double value : density) log_sum += std::log(value);
  return std::exp(log_sum / kDensityBins);
}

double CostBesideEven(const Bins& density, double mean_density, const Bins& counts) {
  double cost = 0, total = 0;
  for (size_t i = 0; i < kDensityBins; i++) {
    cost += counts[i] / density[i];
    total += counts[i];
  }
  return total > 0 ? mean_density * cost / total : 1;
}

Bins Blend(const Bins& density, double strength) {
  Bins blend(kDensityBins);
  for (size_t i = 0; i < kDensityBins; i++) {
    blend[i] = std::max(kLeastDensity, 1 + strength * (density[i] - 1));
  }
  return blend;
}

// From the `look_back` stretches before `end`.
Bins DensityBefore(const std::vector<Bins>& stretches, size_t end, size_t look_back) {
  Bins counts(kDensityBins);
  for (size_t i = end - std::min(look_back, end); i < end; i++) {
    for (size_t bin = 0; bin < kDensityBins; bin++) counts[bin] += stretches[i][bin];
  }
  return SmoothDensity(counts);
}

}  // namespace

double CostBesideEven(const Bins& density, const Bins& counts) {
  return CostBesideEven(density, MeanDensity(density), counts);
}

Bins BestDensity(const std::vector<Bins>& stretches) {
  const size_t count = stretches.size();
  Bins best(kDensityBins, 1);
  if (count < kFewestStretches) return best;
  double least = kWorthwhile;
  std::vector<double> weight_of(count);
  for (size_t i = 0; i < count; i++) {
    weight_of[i] = std::pow(kForget, static_cast<double>(count - 1 - i));
  }
  for (const size_t look_back : kLookBacks) {
    double costs[std::size(kStrengths)] = {};
    double weights = 0;
    for (size_t now = 1; now < count; now++) {
      const Bins density = DensityBefore(stretches, now, look_back);
      for (size_t s = 0; s < std::size(kStrengths); s++) {
        const Bins blend = Blend(density, kStrengths[s]);
        const double mean = MeanDensity(blend);
        for (size_t later = now; later < std::min(count, now + kLifetime); later++) {
          costs[s] += weight_of[later] * CostBesideEven(blend, mean, stretches[later]);
          if (s == 0) weights += weight_of[later];
        }
      }
    }
    for (size_t s = 0; s < std::size(kStrengths); s++) {
      if (costs[s] >= least * weights) continue;
      least = costs[s] / weights;
      best = Blend(DensityBefore(stretches, count, look_back), kStrengths[s]);
    }
  }
  return best;
}

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
