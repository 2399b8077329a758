#include "experiments/optimum/rates.h"

#include <cmath>

#include "lib/hash/mix.h"

namespace rocksieve::experiments {
namespace {

// Other numbers than those from which the filters derive positions.
constexpr uint64_t kSeed = 0x5EED0F97661ULL;

template <typename AnyFilter>
CountedRate Count(const AnyFilter& filter, uint64_t hashes) {
  CountedRate rate;
  rate.asked = hashes;
  for (uint64_t i = 0; i < hashes; i++) rate.hits += filter.MayContainHash(SplitMix64(kSeed, i));
  return rate;
}

}  // namespace

double CountedRate::HalfWidth95() const {
  constexpr double kNormal = 1.959963984540054;
  const double n = static_cast<double>(asked), z2_per_n = kNormal * kNormal / n;
  return kNormal / (1 + z2_per_n) * std::sqrt(Rate() * (1 - Rate()) / n + z2_per_n / (4 * n));
}

double CountedRate::ScoreAgainst(double rate) const {
  if (rate <= 0) return 0;
  return (Rate() - rate) / std::sqrt(rate * (1 - rate) / static_cast<double>(asked));
}

CountedRate CountRandom(const BloomFilter& filter, const MissingKeys& missing) {
  return Count(filter, missing.random_hashes);
}

CountedRate CountRandom(const Filter& filter, const MissingKeys& missing) {
  return Count(filter, missing.random_hashes);
}

}  // namespace rocksieve::experiments
