// What is known beforehand of the false-positive rate of one file's filter.
#pragma once

#include <functional>

namespace rocksieve::tools {

struct FileRate {
  double mean = 0;
  // Each filter has a rate of its own, since its keys come to lie at random: the variance of that.
  double variance = 0;
};

// The variance of a filter whose keys are thrown at random into lines, all probes of a key into the
// same one; line_rate is the rate of a line with so many keys. A line more crowded than others
// passes more, but the others are emptier for it, so that only the bend of line_rate counts.
double VarianceOfLines(double lines, double keys_per_line,
                       const std::function<double(int keys_in_line)>& line_rate);

}  // namespace rocksieve::tools
