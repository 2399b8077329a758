// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/statistics.h"

#include <cmath>

namespace rocksieve::experiments {
namespace {

constexpr double kNormal = 1.959963984540054;  // the 97.5 % quantile of the normal distribution

// The quantiles for which the expansion below is too rough.
constexpr double kSmall[] = {0,        12.70620, 4.302653, 3.182446, 2.776445,
                             2.570582, 2.446912, 2.364624, 2.306004};

}  // namespace

// Cornish-Fisher expansion in 1 / degrees (Abramowitz and Stegun, 1964, 26.7.5).
double StudentT95(int degrees_of_freedom) {
  if (degrees_of_freedom < static_cast<int>(std::size(kSmall))) return kSmall[degrees_of_freedom];
  const double z = kNormal, n = degrees_of_freedom;
  const double g1 = (std::pow(z, 3) + z) / 4;
  const double g2 = (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / 96;
  const double g3 = (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / 384;
  return z + g1 / n + g2 / (n * n) + g3 / (n * n * n);
}

Mean MeanOf(const std::vector<double>& samples) {
  Mean mean;
  const double n = static_cast<double>(samples.size());
  for (const double sample : samples) mean.value += sample / n;
  if (samples.size() < 2) return mean;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean.value) * (sample - mean.value);
  mean.half_width =
      StudentT95(static_cast<int>(samples.size()) - 1) * std::sqrt(squares / (n - 1) / n);
  return mean;
}

void AddMean(const std::string& name, const Mean& mean, nlohmann::json* row) {
  (*row)[name] = mean.value;
  (*row)[name + "_half_width_95"] = mean.half_width;
}

}  // namespace rocksieve::experiments
