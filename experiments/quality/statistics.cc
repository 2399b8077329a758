#include "experiments/quality/statistics.h"

#include <cmath>
#include <cstddef>

namespace rocksieve::experiments {

double ChiSquareScore(const std::vector<uint64_t>& counts, const std::vector<double>& expected,
                      double degrees_of_freedom) {
  double chi_square = 0;
  for (size_t i = 0; i < counts.size(); i++) {
    const double difference = static_cast<double>(counts[i]) - expected[i];
    chi_square += difference * difference / expected[i];
  }
  const double variance = 2 / (9 * degrees_of_freedom);
  return (std::cbrt(chi_square / degrees_of_freedom) - (1 - variance)) / std::sqrt(variance);
}

void Correlation::Add(double x, double y) {
  if (count_ == 0) {
    x0_ = x;
    y0_ = y;
  }
  x -= x0_;
  y -= y0_;
  count_++;
  x_ += x;
  y_ += y;
  xx_ += x * x;
  yy_ += y * y;
  xy_ += x * y;
}

double Correlation::Score() const {
  if (count_ < 2) return 0;
  const double variance_x = xx_ - x_ * x_ / count_, variance_y = yy_ - y_ * y_ / count_;
  if (variance_x <= 0 || variance_y <= 0) return 0;
  const double r = (xy_ - x_ * y_ / count_) / std::sqrt(variance_x * variance_y);
  return r * std::sqrt(count_);
}

}  // namespace rocksieve::experiments
