// What the bits tell of the keys.
//
// Let L be k n / m for a set of n keys. Of m bits, z = e^-L are 0, and the n k throws have made
// their number Z vary by Var(Z) = m (z - z^2 - L z^2) (occupancy; W. Feller, "An Introduction to
// Probability Theory", volume 1; Whang et al. 1990), so
//   Var(ln Z) = V(L) / m,  V(L) = e^L - 1 - L.
// Two sets with C common keys, L_c = k C / m: a bit is 0 in both with probability z_or =
// e^-(L_a + L_b - L_c), and taking off what the fixed numbers of throws explain,
//   Cov(Z_a, Z_b) = m (z_or - z_a z_b - L_c z_a z_b), Cov(ln Z_a, ln Z_b) = V(L_c) / m,
// and likewise Cov(ln Z_a, ln Z_or) = V(L_a) / m. The intersection is estimated by
// (ln Z_or - ln Z_a - ln Z_b + ln m) m / k, with the variance
//   m / k^2 (V(L_or) + V(L_a) + V(L_b) + 2 V(L_c) - 2 V(L_a) - 2 V(L_b)).
#include <rocksieve/dynamic/bloom_filter.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace rocksieve {
namespace {

// n for a share of zeros, each key having thrown `hashes` bits into one array, or one into each.
double KeysFromZeros(const BloomFilterOptions& options, double zero_share) {
  const double bits = static_cast<double>(options.bits), hashes = options.hashes;
  const bool partitioned = options.layout == BloomLayout::kPartitioned;
  const double per_key = partitioned ? std::log1p(-hashes / bits) : hashes * std::log1p(-1 / bits);
  return zero_share == 1 ? 0 : std::log(zero_share) / per_key;
}

// V(L) for n keys.
double Spread(const BloomFilterOptions& options, double keys) {
  const double load = options.hashes * std::max(0.0, keys) / static_cast<double>(options.bits);
  return std::expm1(load) - load;
}

double ErrorFromSpread(const BloomFilterOptions& options, double spread) {
  return std::sqrt(static_cast<double>(options.bits) * std::max(0.0, spread)) / options.hashes;
}

Estimate KeysFromOnes(const BloomFilterOptions& options, uint64_t ones) {
  if (ones == options.bits) {
    return {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
  const double keys =
      KeysFromZeros(options, 1 - static_cast<double>(ones) / static_cast<double>(options.bits));
  return {keys, ErrorFromSpread(options, Spread(options, keys))};
}

}  // namespace

uint64_t BloomFilter::CountOnes(uint64_t begin_bit, uint64_t end_bit) const {
  uint64_t ones = 0;
  for (uint64_t i = begin_bit / 64; i * 64 < end_bit; i++) {
    uint64_t word = LoadWord(i);
    if (i * 64 < begin_bit) word &= ~uint64_t{0} << begin_bit % 64;
    if (end_bit - i * 64 < 64) word &= ~(~uint64_t{0} << end_bit % 64);
    ones += static_cast<uint64_t>(std::popcount(word));
  }
  return ones;
}

double BloomFilter::FillRatio() const {
  return static_cast<double>(CountOnes(0, options_.bits)) / static_cast<double>(options_.bits);
}

double BloomFilter::ExpectedFalsePositiveRate() const {
  if (options_.layout == BloomLayout::kOneArray) return std::pow(FillRatio(), options_.hashes);
  const uint64_t array_bits = options_.bits / static_cast<uint64_t>(options_.hashes);
  double rate = 1;
  for (uint64_t begin = 0; begin < options_.bits; begin += array_bits) {
    rate *=
        static_cast<double>(CountOnes(begin, begin + array_bits)) / static_cast<double>(array_bits);
  }
  return rate;
}

Estimate BloomFilter::EstimateKeys() const {
  return KeysFromOnes(options_, CountOnes(0, options_.bits));
}

std::optional<Estimate> BloomFilter::EstimateUnion(const BloomFilter& a, const BloomFilter& b) {
  if (a.options_ != b.options_) return std::nullopt;
  uint64_t ones = 0;
  for (size_t i = 0; i < a.words_.size(); i++) {
    ones += static_cast<uint64_t>(std::popcount(a.LoadWord(i) | b.LoadWord(i)));
  }
  return KeysFromOnes(a.options_, ones);
}

std::optional<Estimate> BloomFilter::EstimateIntersection(const BloomFilter& a,
                                                          const BloomFilter& b) {
  const std::optional<Estimate> either = EstimateUnion(a, b);
  if (!either) return std::nullopt;
  const BloomFilterOptions& options = a.options_;
  const double in_a = a.EstimateKeys().value, in_b = b.EstimateKeys().value;
  const double both = in_a + in_b - either->value;
  const double spread = Spread(options, either->value) - Spread(options, in_a) -
                        Spread(options, in_b) + 2 * Spread(options, both);
  return Estimate{both, ErrorFromSpread(options, spread)};
}

}  // namespace rocksieve
