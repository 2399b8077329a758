#include "tools/demo/builtin_model.h"

#include <cmath>

namespace rocksieve::tools {
namespace {

constexpr int kProbes = 6;  // ChooseNumProbes() for 8.301 to 10.07 bits per key
constexpr double kLineBits = 512;
constexpr uint64_t kLineBytes = 64;
constexpr uint64_t kTrailerBytes = 5;

// StandardFpRate() at so many keys per line. An empty line passes nothing; RocksDB has no floor
// there, and its formula no sense below one key per line.
double LineRate(double keys_in_line) {
  if (keys_in_line <= 0) return 0;
  return std::pow(1 - std::exp(-kProbes * keys_in_line / kLineBits), kProbes);
}

double CacheLocalRate(double bits_per_key) {
  const double keys_per_line = kLineBits / bits_per_key;
  const double deviation = std::sqrt(keys_per_line);
  return (LineRate(keys_per_line + deviation) + LineRate(keys_per_line - deviation)) / 2;
}

uint64_t BloomBytes(uint64_t keys) {
  const auto bytes =
      static_cast<uint64_t>(std::ceil(static_cast<double>(keys) * kBuiltinBitsPerKey / 8));
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes + kTrailerBytes;
}

}  // namespace

FileRate BuiltinBloomRate(uint64_t keys, uint64_t filter_bytes) {
  if (keys == 0) return {};
  const uint64_t lines = filter_bytes / kLineBytes;
  if (lines == 0) return {1, 0};
  const double keys_per_line = static_cast<double>(keys) / static_cast<double>(lines);
  return {CacheLocalRate(kLineBits / keys_per_line),
          VarianceOfLines(static_cast<double>(lines), keys_per_line, LineRate)};
}

FileRate BuiltinRibbonRate(uint64_t keys, uint64_t filter_bytes) {
  if (filter_bytes == BloomBytes(keys)) return BuiltinBloomRate(keys, filter_bytes);
  return {CacheLocalRate(kBuiltinBitsPerKey), 0};
}

}  // namespace rocksieve::tools
