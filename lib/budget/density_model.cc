// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/density_model.h"

#include <algorithm>
#include <cmath>

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

}  // namespace rocksieve
