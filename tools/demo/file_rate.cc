#include "tools/demo/file_rate.h"

#include <algorithm>
#include <cmath>

namespace rocksieve::tools {

double VarianceOfLines(double lines, double keys_per_line,
                       const std::function<double(int keys_in_line)>& line_rate) {
  if (lines <= 0 || keys_per_line <= 0) return 0;
  // The number of keys in a line follows a Poisson law, whose variance is its mean.
  const double spread = 8 * std::sqrt(keys_per_line) + 8;
  const int from = static_cast<int>(std::max(0.0, keys_per_line - spread));
  const int to = static_cast<int>(keys_per_line + spread);
  double mean = 0, square = 0, product = 0;
  for (int keys = from; keys <= to; keys++) {
    const double probability =
        std::exp(keys * std::log(keys_per_line) - keys_per_line - std::lgamma(keys + 1.0));
    const double rate = line_rate(keys);
    mean += probability * rate;
    square += probability * rate * rate;
    product += probability * rate * (keys - keys_per_line);
  }
  // All lines together have a fixed number of keys, so what depends on it linearly cancels out.
  const double of_line = square - mean * mean - product * product / keys_per_line;
  return std::max(of_line, 0.0) / lines;
}

}  // namespace rocksieve::tools
