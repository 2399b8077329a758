// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/clock.h"

#include <algorithm>

namespace rocksieve::bench {
namespace {

// REQUIRES: sorted is sorted
double Quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Summary Summarize(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  Summary summary;
  summary.min = samples.front();
  summary.median = Quantile(samples, 0.5);
  const double quartiles = Quantile(samples, 0.75) - Quantile(samples, 0.25);
  summary.spread_percent = summary.median > 0 ? 100 * quartiles / summary.median : 0;
  return summary;
}

void AddTimes(const std::string& name, const std::vector<double>& samples, nlohmann::json* row) {
  const Summary summary = Summarize(samples);
  (*row)[name + "_ns_min"] = summary.min;
  (*row)[name + "_ns_median"] = summary.median;
  (*row)[name + "_spread_percent"] = summary.spread_percent;
}

}  // namespace rocksieve::bench
