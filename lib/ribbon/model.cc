#include "lib/ribbon/model.h"

#include <cmath>

namespace rocksieve::ribbon {

double FalsePositiveRate(int columns, double wide_share) {
  return std::ldexp(1 - wide_share / 2, -columns);
}

double WidthForRate(double rate) {
  // The inverse of the above: rate * 2^columns = 1 - share / 2 lies between 1/2 and 1.
  const double columns = std::floor(-std::log2(rate));
  return columns + 2 * (1 - std::ldexp(rate, static_cast<int>(columns)));
}

}  // namespace rocksieve::ribbon
