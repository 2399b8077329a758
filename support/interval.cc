#include "support/interval.h"

#include <algorithm>
#include <cmath>

namespace rocksieve {
namespace {

constexpr double kZ = 1.959964;  // 97.5 % of a normal distribution lie below
constexpr double kTail = 0.025;

double LogBinomial(double n, double k, double p) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
         (n - k) * std::log1p(-p);
}

}  // namespace

Share ObservedShare(uint64_t hits, uint64_t trials) {
  if (trials == 0) return {};
  const double n = static_cast<double>(trials);
  const double share = static_cast<double>(hits) / n;
  const double scale = 1 / (1 + kZ * kZ / n);
  const double middle = scale * (share + kZ * kZ / (2 * n));
  const double reach = scale * kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  // Exactly 0 and 1 at the ends, whatever the rounding.
  return {share, hits == 0 ? 0 : middle - reach, hits == trials ? 1 : middle + reach};
}

Share ExpectedShare(double probability, double variance, uint64_t trials) {
  if (trials == 0) return {probability, 0, 1};
  if (probability <= 0 || probability >= 1) return {probability, probability, probability};
  const double scatter = probability * (1 - probability);
  const double n =
      std::ceil(scatter / (scatter / static_cast<double>(trials) + std::max(variance, 0.0)));
  const double mean = n * probability;
  // What lies farther than this from the mean weighs nothing against the tails.
  const double spread = 10 * std::sqrt(mean * (1 - probability)) + 10;
  double hits = std::floor(std::max(0.0, mean - spread));
  double weight = std::exp(LogBinomial(n, hits, probability));
  double sum = weight, low = hits;
  while (sum < 1 - kTail && hits < n) {
    if (sum < kTail) low = hits + 1;
    weight *= (n - hits) / (hits + 1) * probability / (1 - probability);
    hits++;
    sum += weight;
  }
  // Of few trials, the likely numbers of hits may all be on one side.
  return {probability, std::min(low / n, probability), std::max(hits / n, probability)};
}

}  // namespace rocksieve
