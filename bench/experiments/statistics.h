// SPDX-License-Identifier: Apache-2.0
// Means of repeated measurements, and how far they can be trusted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rocksieve::experiments {

struct Mean {
  double value = 0;
  // Half the width of the 95 % confidence interval: t * s / sqrt(n), with Student's t for n - 1
  // degrees of freedom ("Student", "The Probable Error of a Mean", 1908). 0 for one sample.
  double half_width = 0;
};

Mean MeanOf(const std::vector<double>& samples);

// The t that a variable of Student's distribution exceeds in either direction with a probability
// of 5 %. Within 0.001 of the tables. REQUIRES: degrees_of_freedom >= 1.
double StudentT95(int degrees_of_freedom);

// Sets NAME and NAME_half_width_95.
void AddMean(const std::string& name, const Mean& mean, nlohmann::json* row);

}  // namespace rocksieve::experiments
