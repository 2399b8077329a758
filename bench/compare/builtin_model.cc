#include "compare/builtin_model.h"

#include <algorithm>
#include <cmath>

namespace rocksieve::bench {
namespace {

constexpr double kLineBits = 512;
constexpr size_t kTrailerBytes = 5;

// FastLocalBloomImpl::ChooseNumProbes()
int ProbesFor(double bits_per_key) {
  constexpr double kUpTo[] = {2.08,  3.58,   5.1,   6.64, 8.3,    10.07,
                              11.72, 14.001, 16.05, 18.3, 22.001, 25.501};
  int probes = 1;
  for (double up_to : kUpTo) {
    if (bits_per_key <= up_to) return probes;
    probes++;
  }
  return bits_per_key > 50 ? 24 : static_cast<int>((bits_per_key - 0.001) / 2) - 1;
}

// A missing key passes if all its probes find set bits. The share of set bits after so many throws
// has a known mean and variance, and the mean of its power is a little more than the power of its
// mean, the more so the more probes there are.
double LineRate(int probes, double keys_in_line) {
  if (keys_in_line == 0) return 0;
  const double throws = probes * keys_in_line;
  const double clear = std::pow(1 - 1 / kLineBits, throws);
  const double both_clear = std::pow(1 - 2 / kLineBits, throws);
  const double set = 1 - clear;
  const double variance = clear / kLineBits + (1 - 1 / kLineBits) * both_clear - clear * clear;
  return std::pow(set, probes) * (1 + probes * (probes - 1) / 2.0 * variance / (set * set));
}

// Probability of `hits` among `trials` if each has probability p.
double Binomial(double trials, double hits, double p) {
  return std::exp(std::lgamma(trials + 1) - std::lgamma(hits + 1) - std::lgamma(trials - hits + 1) +
                  hits * std::log(p) + (trials - hits) * std::log1p(-p));
}

double BloomRate(int probes, double lines, double keys) {
  if (lines <= 1) return LineRate(probes, keys);
  const double mean = keys / lines;
  const double reach = 10 * std::sqrt(mean) + 10;
  double rate = 0;
  for (double in_line = std::max(0.0, std::floor(mean - reach));
       in_line <= std::min(keys, mean + reach); in_line++) {
    rate += Binomial(keys, in_line, 1 / lines) * LineRate(probes, in_line);
  }
  return rate;
}

uint8_t At(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

// Blocks of 128 slots; the first `lower` of them have one column of result bits less.
double RibbonRate(std::string_view trailer, size_t payload_bytes) {
  const size_t blocks = At(trailer, 2) | At(trailer, 3) << 8 | At(trailer, 4) << 16;
  if (blocks == 0) return -1;
  const size_t segments = payload_bytes / 16;
  const size_t columns = (segments + blocks - 1) / blocks;
  const double lower = static_cast<double>(columns * blocks - segments);
  return std::ldexp(1 + lower / static_cast<double>(blocks), -static_cast<int>(columns));
}

// BloomMath::StandardFpRate()
double SimpleLineRate(int probes, double keys_in_line) {
  return std::pow(1 - std::exp(-probes * keys_in_line / kLineBits), probes);
}

// BloomMath::CacheLocalFpRate(): the mean of a crowded and of an uncrowded line.
double RateAsRocksDbEstimates(double bits_per_key) {
  const int probes = ProbesFor(bits_per_key);
  const double mean = kLineBits / bits_per_key;
  const double deviation = std::sqrt(mean);
  return (SimpleLineRate(probes, mean + deviation) + SimpleLineRate(probes, mean - deviation)) / 2;
}

double RateOfManyLines(double bits_per_key) {
  constexpr double kLines = 1e6;
  return BloomRate(ProbesFor(bits_per_key), kLines, kLines * kLineBits / bits_per_key);
}

template <typename RateOf>
double BitsForRate(double rate, RateOf rate_of) {
  double too_few = 1, enough = 60;
  while (enough - too_few > 0.001) {
    const double middle = (too_few + enough) / 2;
    (rate_of(middle) <= rate ? enough : too_few) = middle;
  }
  return enough;
}

}  // namespace

double BuiltinRate(std::string_view block, uint64_t keys) {
  if (keys == 0) return 0;
  if (block.size() <= kTrailerBytes) return 1;  // an always-true filter
  const size_t payload_bytes = block.size() - kTrailerBytes;
  const std::string_view trailer = block.substr(payload_bytes);
  const auto marker = static_cast<int8_t>(At(trailer, 0));
  if (marker == -2) return RibbonRate(trailer, payload_bytes);
  const int probes = At(trailer, 2) & 31;
  if (marker != -1 || At(trailer, 1) != 0 || probes == 0) return -1;
  return BloomRate(probes, static_cast<double>(payload_bytes / 64), static_cast<double>(keys));
}

double BloomBitsForRate(double rate) { return BitsForRate(rate, RateOfManyLines); }

double RibbonBitsForRate(double rate) { return BitsForRate(rate, RateAsRocksDbEstimates); }

}  // namespace rocksieve::bench
