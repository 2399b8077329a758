// How many keys were thrown into cells, from the number of cells that stayed empty.
// Source: Whang, Vander-Zanden, Taylor, "A linear-time probabilistic counting algorithm for
// database applications", 1990: n = m ln(m / empty), error sqrt(m (e^t - t - 1)) with t = n / m.
#pragma once

#include <cmath>

#include <rocksieve/estimate/estimate.h>

namespace rocksieve {

// REQUIRES: 0 < empty <= cells.
inline Estimate LinearCount(double cells, double empty) {
  const double load = std::log(cells / empty);
  return {cells * load, std::sqrt(cells * (cells / empty - load - 1))};
}

}  // namespace rocksieve
