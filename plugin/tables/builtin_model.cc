// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/builtin_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "lib/format/coding.h"

namespace rocksieve {
namespace {

constexpr double kLineBits = 8 * kBuiltinBloomLineBytes;

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

// BloomMath::StandardFpRate()
double SimpleLineRate(int probes, double keys_in_line) {
  return std::pow(1 - std::exp(-probes * keys_in_line / kLineBits), probes);
}

// BloomMath::CacheLocalFpRate(): the mean of a crowded and of an uncrowded line.
double MeanOfCrowdedAndUncrowded(int probes, double keys_per_line) {
  const double deviation = std::sqrt(keys_per_line);
  return (SimpleLineRate(probes, keys_per_line + deviation) +
          SimpleLineRate(probes, std::max(0.0, keys_per_line - deviation))) /
         2;
}

double RateAsRocksDbEstimates(double bits_per_key) {
  return MeanOfCrowdedAndUncrowded(ProbesFor(bits_per_key), kLineBits / bits_per_key);
}

double RateOfManyLines(double bits_per_key) {
  constexpr double kLines = 1e6;
  return RocksDbBloomRate(ProbesFor(bits_per_key), kLines, kLines * kLineBits / bits_per_key);
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

// How many keys so many slots of a Ribbon filter can take: 2^8, 2^9 .. 2^17 of them
// (ribbon_config.cc: one failure in 20 attempts, 128 coefficients, no smash); beyond, each doubling
// takes kRibbonGrowth more slots per key.
constexpr double kKeysInSlots[] = {248.851, 499.532, 1001.26, 2003.97, 4005.59,
                                   8000.39, 15966.6, 31828.1, 63447.3, 126506};
constexpr double kRibbonGrowth = 0.0038;
constexpr int kFirstLog2 = 8, kLastLog2 = kFirstLog2 + std::size(kKeysInSlots) - 1;
constexpr double kFewestRibbonSlots = 256;

double KeysIn(int log2_slots) {
  if (log2_slots <= kLastLog2) return kKeysInSlots[log2_slots - kFirstLog2];
  const double slots_per_key = std::ldexp(1 / kKeysInSlots[kLastLog2 - kFirstLog2], kLastLog2) +
                               kRibbonGrowth * (log2_slots - kLastLog2);
  return std::ldexp(1 / slots_per_key, log2_slots);
}

// GetNumSlots() and RoundUpNumSlots()
double RibbonSlots(double keys) {
  if (keys < kKeysInSlots[0]) return kFewestRibbonSlots;
  int below = kFirstLog2;
  while (KeysIn(below + 1) <= keys) below++;
  const double share = (keys - KeysIn(below)) / (KeysIn(below + 1) - KeysIn(below));
  const double slots = std::ceil(std::ldexp(1 + share, below));
  return kBuiltinRibbonBlockSlots * std::ceil(slots / kBuiltinRibbonBlockSlots);
}

}  // namespace

std::string_view BuiltinFamilyName(Family family) {
  if (family == Family::kRocksDbBloom) return "RocksDB Bloom";
  if (family == Family::kRocksDbLegacyBloom) return "RocksDB legacy Bloom";
  return family == Family::kRocksDbRibbon ? "RocksDB Ribbon" : "";
}

double RocksDbBloomRate(int probes, double lines, double keys) {
  const double mean = keys / lines;
  // With so many keys each bit is set, as far as a double can tell; the sum would have no end.
  constexpr double kFull = 40;
  if (probes * mean > kFull * kLineBits) return 1;
  if (lines <= 1) return std::min(1.0, LineRate(probes, keys));
  const double reach = 10 * std::sqrt(mean) + 10;
  double rate = 0;
  for (double in_line = std::max(0.0, std::floor(mean - reach));
       in_line <= std::min(keys, mean + reach); in_line++) {
    rate += Binomial(keys, in_line, 1 / lines) * LineRate(probes, in_line);
  }
  return std::min(1.0, rate);
}

// Keys begin at all slots but the last 127, so that the blocks with one column less serve a little
// more than their share.
double RocksDbRibbonRate(double columns, double blocks, double lower) {
  const double starts = kBuiltinRibbonBlockSlots * blocks - (kBuiltinRibbonBlockSlots - 1);
  const double lower_share = std::min(1.0, lower * kBuiltinRibbonBlockSlots / starts);
  return std::exp2(-columns) * (1 + lower_share);
}

double BuiltinBloomBitsForRate(double rate) { return BitsForRate(rate, RateOfManyLines); }

double BuiltinRibbonBitsForRate(double rate) { return BitsForRate(rate, RateAsRocksDbEstimates); }

BuiltinFilter BuiltinBloom(uint64_t keys, double bits_per_key) {
  if (keys == 0) return {};
  const auto count = static_cast<double>(keys);
  const double lines = std::ceil(bits_per_key * count / kLineBits);
  // The probes follow from the setting, whatever the size was rounded up to.
  return {lines * kLineBits / 8 + kBuiltinTrailerBytes,
          RocksDbBloomRate(ProbesFor(bits_per_key), lines, count)};
}

BuiltinFilter BuiltinRibbon(uint64_t keys, double bloom_equivalent_bits_per_key) {
  if (keys == 0) return {};
  const double slots = RibbonSlots(static_cast<double>(keys));
  const double wanted_rate = RateAsRocksDbEstimates(bloom_equivalent_bits_per_key);
  // Some blocks have one column less, so that the mean of both rates is at most the wanted one; the
  // number of these blocks is rounded down, or up if hashes want it so (InternalGetBytesForFpRate).
  const double columns = 1 + std::floor(std::log2(1 / wanted_rate));
  const double wanted_share = std::ldexp(wanted_rate, static_cast<int>(columns)) - 1;
  const double blocks = slots / kBuiltinRibbonBlockSlots;
  const double starts = slots - (kBuiltinRibbonBlockSlots - 1);
  const double lower = std::floor((wanted_share * starts + 0.5) / kBuiltinRibbonBlockSlots);
  const BuiltinFilter ribbon = {16 * (columns * blocks - lower) + kBuiltinTrailerBytes,
                                RocksDbRibbonRate(columns, blocks, lower)};
  constexpr double kFewSlots = 1024;
  if (slots >= kFewSlots) return ribbon;
  const BuiltinFilter bloom = BuiltinBloom(keys, bloom_equivalent_bits_per_key);
  return bloom.bytes < ribbon.bytes ? bloom : ribbon;
}

BuiltinFilter LegacyBloom(uint64_t keys, double bits_per_key) {
  if (keys == 0) return {kBuiltinTrailerBytes, 0};
  const double whole_bits = std::max(1.0, std::floor(bits_per_key + 0.5));
  const int probes = std::clamp(static_cast<int>(whole_bits * 0.69), 1, 30);
  const auto count = static_cast<double>(keys);
  auto lines = static_cast<uint64_t>(std::ceil(count * whole_bits / kLineBits));
  if (lines % 2 == 0) lines++;
  const double bytes = static_cast<double>(lines) * kLineBits / 8;
  return {bytes + kBuiltinTrailerBytes, LegacyBloomRate(count, bytes, probes)};
}

// LegacyLocalityBloomImpl::EstimatedFpRate(): the mean of a crowded and of an uncrowded line, a
// flaw of its positions, its hash of 32 bits. The estimate of the flaw there is meant for 50 bits
// per key and more, and up to a tenth of the rate too high below; the share of it that is real was
// measured with `rocksieve inspect` at 5 to 20 bits per key, and makes the rate right within 4 %.
double LegacyBloomRate(double keys, double bytes, int probes) {
  if (keys == 0) return 0;
  const double bits_per_key = 8 * bytes / keys;
  const double share_of_flaw = std::clamp((bits_per_key - 4) / 10, 0.0, 0.9);
  const double filter = MeanOfCrowdedAndUncrowded(probes, kLineBits / bits_per_key) +
                        share_of_flaw * 0.1 / (bits_per_key * 0.75 + 22);
  const double hash = 1 - std::exp(-keys * std::ldexp(1, -32));
  return std::min(1.0, filter + hash - filter * hash);
}

double BuiltinBloomLineRate(double bits_per_key, double keys_in_line) {
  return LineRate(ProbesFor(bits_per_key), keys_in_line);
}

}  // namespace rocksieve
