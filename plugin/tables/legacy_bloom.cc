#include "plugin/tables/legacy_bloom.h"

#include <algorithm>
#include <cmath>

namespace rocksieve {

LegacyBloom PredictLegacyBloom(uint64_t keys, double bits_per_key) {
  constexpr double kLineBits = 512, kTrailerBytes = 5;
  if (keys == 0) return {kTrailerBytes, 0};
  const double whole_bits = std::max(1.0, std::floor(bits_per_key + 0.5));
  const int probes = std::clamp(static_cast<int>(whole_bits * 0.69), 1, 30);
  const auto count = static_cast<double>(keys);
  auto lines = static_cast<uint64_t>(std::ceil(count * whole_bits / kLineBits));
  if (lines % 2 == 0) lines++;
  const double bytes = static_cast<double>(lines) * kLineBits / 8;
  return {bytes + kTrailerBytes, LegacyBloomRate(count, bytes, probes)};
}

// LegacyLocalityBloomImpl::EstimatedFpRate() in util/bloom_impl.h, RocksDB 7.8: the mean of a
// crowded and of an uncrowded line, a flaw of its positions, its hash of 32 bits. The estimate of
// the flaw there is meant for 50 bits per key and more, and up to a tenth of the rate too high
// below; the share of it that is real was measured with `rocksieve inspect` at 5 to 20 bits per
// key, and makes the rate right within 4 %.
double LegacyBloomRate(double keys, double bytes, int probes) {
  const double bits_per_key = 8 * bytes / keys;
  const double keys_per_line = 512 / bits_per_key;
  const double deviation = std::sqrt(keys_per_line);
  const auto line_rate = [&](double keys_in_line) {
    return std::pow(1 - std::exp(-probes * keys_in_line / 512), probes);
  };
  const double share_of_flaw = std::clamp((bits_per_key - 4) / 10, 0.0, 0.9);
  const double filter =
      (line_rate(keys_per_line + deviation) + line_rate(std::max(0.0, keys_per_line - deviation))) /
          2 +
      share_of_flaw * 0.1 / (bits_per_key * 0.75 + 22);
  const double hash = 1 - std::exp(-keys * std::ldexp(1, -32));
  return std::min(1.0, filter + hash - filter * hash);
}

}  // namespace rocksieve
