#include <rocksieve/estimate/lsh_index.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "lib/toolbox/min_hash_bytes.h"

namespace rocksieve {
namespace {

// The integral of `f` by Simpson's rule: the S is smooth, and only areas are compared.
template <typename Function>
double Area(double from, double to, const Function& f) {
  constexpr int kSteps = 32;  // even
  const double step = (to - from) / kSteps;
  double sum = f(from) + f(to);
  for (int i = 1; i < kSteps; i++) sum += f(from + i * step) * (i % 2 == 1 ? 4 : 2);
  return sum * step / 3;
}

double Cost(const LshBanding& banding, double threshold, double miss_weight) {
  const double false_candidates =
      Area(0, threshold, [&](double s) { return banding.CandidateProbability(s); });
  const double missed =
      Area(threshold, 1, [&](double s) { return 1 - banding.CandidateProbability(s); });
  return false_candidates + miss_weight * missed;
}

}  // namespace

LshBanding LshBanding::ForThreshold(uint64_t signature_size, double threshold, double miss_weight) {
  if (signature_size < 1 || signature_size > MinHashBytes::kMostPlaces) {
    throw std::invalid_argument("LshBanding: signature_size is " + std::to_string(signature_size) +
                                ", but must be 1 .. 4096, that of the signatures");
  }
  if (!(threshold > 0 && threshold < 1)) {
    throw std::invalid_argument("LshBanding: threshold is " + std::to_string(threshold) +
                                ", but must be between 0 and 1, such as 0.8");
  }
  if (!(miss_weight > 0)) {
    throw std::invalid_argument("LshBanding: miss_weight is " + std::to_string(miss_weight) +
                                ", but must be above 0; 1 weighs both mistakes alike");
  }
  LshBanding best;
  double least = std::numeric_limits<double>::infinity();
  for (uint64_t rows = 1; rows <= signature_size; rows++) {
    // More bands move the S to the left: what is met in vain grows and what is missed shrinks. From
    // the most bands downwards the cost falls, and once it rises it rises for good.
    double before = std::numeric_limits<double>::infinity();
    for (uint64_t bands = signature_size / rows; bands >= 1; bands--) {
      const LshBanding banding{bands, rows};
      const double cost = Cost(banding, threshold, miss_weight);
      if (cost > before) break;
      before = cost;
      if (cost < least) {
        least = cost;
        best = banding;
      }
    }
  }
  return best;
}

double LshBanding::CandidateProbability(double similarity) const {
  const double band = std::pow(similarity, static_cast<double>(rows));
  // 1 - (1 - band)^bands, exact for small ones too.
  return band >= 1 ? 1 : -std::expm1(static_cast<double>(bands) * std::log1p(-band));
}

double LshBanding::HalfPoint() const {
  return std::pow(-std::expm1(-std::log(2.0) / static_cast<double>(bands)),
                  1 / static_cast<double>(rows));
}

}  // namespace rocksieve
