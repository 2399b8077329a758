#include <rocksieve/dynamic/bloom_filter.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace rocksieve {
namespace {

// k n / m at which the rate is reached.
double LoadForRate(int hashes, double rate) {
  return -std::log1p(-std::exp(std::log(rate) / hashes));
}

}  // namespace

double BloomFalsePositiveRate(uint64_t bits, int hashes, uint64_t keys) {
  const double load =
      static_cast<double>(hashes) * static_cast<double>(keys) / static_cast<double>(bits);
  return std::pow(-std::expm1(-load), hashes);
}

int OptimalBloomHashes(uint64_t bits, uint64_t keys) {
  const double best = static_cast<double>(bits) / static_cast<double>(keys) * std::log(2);
  if (best >= BloomFilterOptions::kMostHashes) return BloomFilterOptions::kMostHashes;
  const int below = std::max(1, static_cast<int>(best));
  const int above = std::min(below + 1, BloomFilterOptions::kMostHashes);
  return BloomFalsePositiveRate(bits, above, keys) < BloomFalsePositiveRate(bits, below, keys)
             ? above
             : below;
}

double BloomBitsForRate(int hashes, uint64_t keys, double false_positive_rate) {
  return hashes * static_cast<double>(keys) / LoadForRate(hashes, false_positive_rate);
}

uint64_t MostBloomKeys(uint64_t bits, int hashes, double false_positive_rate) {
  return static_cast<uint64_t>(static_cast<double>(bits) / hashes *
                               LoadForRate(hashes, false_positive_rate));
}

BloomFilterOptions BloomFilterOptions::ForKeys(uint64_t keys, double false_positive_rate) {
  if (keys == 0) {
    throw std::invalid_argument(
        "BloomFilterOptions: keys is 0; give the number of distinct keys that are expected, at "
        "least 1, or use a ScalableBloomFilter if nobody knows it");
  }
  if (!(false_positive_rate > 0 && false_positive_rate < 1)) {
    throw std::invalid_argument("BloomFilterOptions: false_positive_rate is " +
                                std::to_string(false_positive_rate) +
                                "; give a fraction between 0 and 1, such as 0.01 for 1 %");
  }
  // The best k is log2(1 / rate) for real numbers; of integers, one of those around it.
  const double best = -std::log2(false_positive_rate);
  const int below = std::clamp(static_cast<int>(best), 1, kMostHashes);
  const int above = std::min(below + 1, kMostHashes);
  const double bits_below = BloomBitsForRate(below, keys, false_positive_rate);
  const double bits_above = BloomBitsForRate(above, keys, false_positive_rate);
  const double bits = std::ceil(std::min(bits_below, bits_above));
  if (!(bits <= static_cast<double>(kMostBits))) {
    throw std::invalid_argument(
        "BloomFilterOptions: so many keys at so low a rate need more than 2^48 bits; give fewer "
        "keys or a higher rate");
  }
  BloomFilterOptions options;
  options.bits = std::max<uint64_t>(1, static_cast<uint64_t>(bits));
  options.hashes = bits_above < bits_below ? above : below;
  return options;
}

}  // namespace rocksieve
