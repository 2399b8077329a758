// What the rounds of a measurement come to.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rocksieve::bench {

struct Summary {
  double min = 0;
  double median = 0;
  double spread_percent = 0;  // distance of the quartiles over the median
};

// REQUIRES: !samples.empty()
Summary Summarize(std::vector<double> samples);

// Sets NAME_ns_min, NAME_ns_median and NAME_spread_percent.
void AddTimes(const std::string& name, const std::vector<double>& samples, nlohmann::json* row);

}  // namespace rocksieve::bench
