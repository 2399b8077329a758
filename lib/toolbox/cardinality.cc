// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <rocksieve/estimate/hyper_log_log.h>
#include <rocksieve/estimate/k_minimum_values.h>

#include "lib/format/bit_coder.h"
#include "lib/format/bit_io.h"
#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {
namespace {

constexpr int kLeastPrecision = 4, kMostPrecision = 18;
constexpr int kRegisterBits = 6;

// Makes the estimate unbiased for many keys: Flajolet et al., figure 3.
double Alpha(int precision) {
  switch (precision) {
    case 4:
      return 0.673;
    case 5:
      return 0.697;
    case 6:
      return 0.709;
    default:
      return 0.7213 / (1 + 1.079 * std::ldexp(1.0, -precision));
  }
}

// The top bits choose the register; a bit behind the rest ends a run of zeros there.
uint8_t RankOf(uint64_t key_hash, int precision) {
  const uint64_t rest = key_hash << precision | uint64_t{1} << (precision - 1);
  return static_cast<uint8_t>(std::countl_zero(rest) + 1);
}

}  // namespace

HyperLogLogOptions HyperLogLogOptions::ForError(double standard_error) {
  // Written so that NaN is refused too.
  const double registers = std::pow(1.04 / standard_error, 2);
  RefuseIf(
      !(standard_error > 0 && standard_error < 1 && registers <= std::ldexp(1.0, kMostPrecision)),
      "HyperLogLogOptions: standard_error is ", standard_error,
      ", but must be from 0.0021 and below 1, such as 0.01");
  HyperLogLogOptions options;
  options.precision = kLeastPrecision;
  while (std::ldexp(1.0, options.precision) < registers) options.precision++;
  return options;
}

HyperLogLog::HyperLogLog(const HyperLogLogOptions& options) : options_(options) {
  RefuseIf(options.precision < kLeastPrecision || options.precision > kMostPrecision,
           "HyperLogLogOptions: precision is ", options.precision,
           ", but must be 4 .. 18, such as 12 for an error of 1.6 %");
  registers_.resize(size_t{1} << options.precision);
}

uint64_t HyperLogLog::KeyHash(std::string_view key) const { return HashKey(key, options_.seed); }

void HyperLogLog::AddHash(uint64_t key_hash) {
  uint8_t& entry = registers_[key_hash >> (64 - options_.precision)];
  entry = std::max(entry, RankOf(key_hash, options_.precision));
}

void HyperLogLog::AddHashConcurrently(uint64_t key_hash) {
  const std::atomic_ref<uint8_t> entry(registers_[key_hash >> (64 - options_.precision)]);
  const uint8_t rank = RankOf(key_hash, options_.precision);
  uint8_t old = entry.load(std::memory_order_relaxed);
  while (old < rank && !entry.compare_exchange_weak(old, rank, std::memory_order_relaxed)) {
  }
}

Estimate HyperLogLog::DistinctCount() const {
  const double m = static_cast<double>(registers_.size());
  double sum = 0;
  size_t empty = 0;
  for (const uint8_t& now : registers_) {
    const uint8_t entry = LoadRelaxed(now);
    sum += std::ldexp(1.0, -entry);
    empty += entry == 0;
  }
  const double value = Alpha(options_.precision) * m * m / sum;
  if (value <= 2.5 * m && empty > 0) return LinearCount(m, m - static_cast<double>(empty));
  return {value, 1.04 / std::sqrt(m) * value};
}

bool HyperLogLog::Merge(const HyperLogLog& other) {
  if (other.options_.precision != options_.precision || other.options_.seed != options_.seed) {
    return false;
  }
  for (size_t i = 0; i < registers_.size(); i++) {
    registers_[i] = std::max(registers_[i], LoadRelaxed(other.registers_[i]));
  }
  return true;
}

size_t HyperLogLog::MemoryBytes() const { return sizeof(*this) + registers_.capacity(); }

std::string HyperLogLog::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(options_.seed);
  out.U8(static_cast<uint8_t>(options_.precision));
  BitWriter bits(&payload);
  for (const uint8_t& entry : registers_) bits.Put(LoadRelaxed(entry), kRegisterBits);
  bits.Finish();
  return WriteEnvelope(EnvelopeType::kHyperLogLog, payload);
}

std::optional<HyperLogLog> HyperLogLog::Deserialize(std::string_view bytes, std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kHyperLogLog, error);
  HyperLogLogOptions options;
  options.seed = in.U64();
  options.precision = in.U8();
  if (!in.ok() || options.precision < kLeastPrecision || options.precision > kMostPrecision) {
    return in.Refuse("damaged first fields");
  }
  // A multiple of 16 registers: no bits are left over.
  if (in.remaining() != (size_t{kRegisterBits} << options.precision) / 8) {
    return in.Refuse("not as many bytes as the registers need");
  }
  HyperLogLog sketch(options);
  BitReader bits(in.Rest());
  for (uint8_t& entry : sketch.registers_) {
    entry = static_cast<uint8_t>(bits.Take(kRegisterBits));
    if (entry > 65 - options.precision) {
      return in.Refuse("a register that no key can set");
    }
  }
  return sketch;
}

namespace {

constexpr size_t kLeastK = 3, kMostK = 1 << 20;
constexpr double kRounding = 1e-12;      // 1 / 0.01^2 is 10,000 and a bit
constexpr uint64_t kWhole = UINT64_MAX;  // the threshold of a sketch that has all its keys

// A number of keys in a sample, where it is not counted.
struct Keys {
  double value, variance = 0;
};

// Numbers of a sample of all hashes below a threshold.
struct Sample {
  double share;
  Estimate Count(const Keys& in_sample) const {
    const double variance = std::max(in_sample.value, 1.0) * (1 - share) + in_sample.variance;
    return {in_sample.value / share, std::sqrt(variance) / share};
  }
  // Values that hashes below the threshold can have, without their low bits.
  double Cells(int shift) const { return std::max(1.0, std::ldexp(share, 64 - shift)); }
  // That have so many values: several may have one, without their low bits.
  Keys KeysOf(size_t values, int shift) const {
    const double taken = static_cast<double>(values), cells = Cells(shift);
    if (shift == 0) return {taken};
    const Estimate keys = LinearCount(cells, std::min(taken, cells - 0.5));
    return {keys.value, keys.standard_error * keys.standard_error};
  }
};

Sample SampleBelow(uint64_t threshold) {
  return {threshold == kWhole ? 1 : static_cast<double>(threshold) * 0x1p-64};
}

size_t CountBelow(const std::vector<uint64_t>& sorted, uint64_t threshold) {
  if (threshold == kWhole) return sorted.size();
  return static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), threshold) -
                             sorted.begin());
}

// Distinct, without their low bits.
std::vector<uint64_t> Rounded(std::vector<uint64_t> sorted, int shift) {
  for (uint64_t& value : sorted) value = value >> shift << shift;
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

// Of the mean gap between hashes. Rounded by no more, they have as many: a sole one is not 0 then.
int GapBits(const std::vector<uint64_t>& sorted) {
  return std::bit_width(sorted.empty() ? 0 : sorted.back() / std::max<size_t>(sorted.size(), 2));
}

// How many of the fewer keys the other sketch has too, as the values without low bits tell:
// `common` of them are in both, and some of these by chance.
Keys CommonKeys(double common, double fewer, double more, double cells) {
  const double by_chance = std::min(more / cells, 1.0), known = 1 - by_chance;
  const double most = fewer * fewer / 4;  // nothing is known
  if (known * fewer < 1) return {fewer / 2, most};
  return {std::clamp((common - fewer * by_chance) / known, 0.0, fewer),
          std::min(fewer * by_chance / known, most)};
}

}  // namespace

KMinimumValuesOptions KMinimumValuesOptions::ForError(double standard_error) {
  // Written so that NaN is refused too.
  const double hashes = std::ceil(1 / (standard_error * standard_error) * (1 - kRounding));
  RefuseIf(!(standard_error > 0 && standard_error < 1 && hashes <= static_cast<double>(kMostK)),
           "KMinimumValuesOptions: standard_error is ", standard_error,
           ", but must be from 0.001 and below 1, such as 0.01");
  KMinimumValuesOptions options;
  options.k = std::max<uint64_t>(kLeastK, static_cast<uint64_t>(hashes));
  return options;
}

KMinimumValues::KMinimumValues(const KMinimumValuesOptions& options)
    : k_(options.k), seed_(options.seed) {
  RefuseIf(options.k < kLeastK || options.k > kMostK, "KMinimumValuesOptions: k is ", options.k,
           ", but must be 3 .. 1048576, such as 1024 for an error of 3 %");
}

uint64_t KMinimumValues::KeyHash(std::string_view key) const { return HashKey(key, seed_); }

void KMinimumValues::AddHash(uint64_t key_hash) {
  if (key_hash >= limit_) return;
  values_.push_back(key_hash);
  if (values_.size() >= 2 * k_) Compact();
}

std::vector<uint64_t> KMinimumValues::Sorted() const {
  std::vector<uint64_t> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.size() > k_) sorted.resize(k_);
  return sorted;
}

KMinimumValues::Known KMinimumValues::WhatIsKnown() const {
  std::vector<uint64_t> sorted = Sorted();
  const bool full = sorted.size() == k_;
  Known known;
  known.shift = std::min(shift_, GapBits(sorted));
  known.values = Rounded(std::move(sorted), known.shift);
  known.threshold = full ? known.values.back() : kWhole;
  return known;
}

void KMinimumValues::Compact() {
  values_ = Sorted();
  if (values_.size() == k_) limit_ = values_.back();
}

Estimate KMinimumValues::DistinctCount() const {
  const Known known = WhatIsKnown();
  const Sample sample = SampleBelow(known.threshold);
  return sample.Count(sample.KeysOf(CountBelow(known.values, known.threshold), known.shift));
}

OverlapEstimate KMinimumValues::Overlap(const KMinimumValues& a, const KMinimumValues& b) {
  if (a.seed_ != b.seed_) {
    throw std::invalid_argument(
        "KMinimumValues: two sketches of different seeds tell nothing of "
        "their overlap; make both with the same KMinimumValuesOptions::seed");
  }
  Known in_a = a.WhatIsKnown(), in_b = b.WhatIsKnown();
  const int shift = std::max(in_a.shift, in_b.shift);
  const uint64_t threshold = std::min(in_a.threshold, in_b.threshold);
  in_a.values.resize(CountBelow(in_a.values, threshold));
  in_b.values.resize(CountBelow(in_b.values, threshold));
  const std::vector<uint64_t> cells_a = Rounded(in_a.values, shift),
                              cells_b = Rounded(in_b.values, shift);
  std::vector<uint64_t> in_both;
  std::set_intersection(cells_a.begin(), cells_a.end(), cells_b.begin(), cells_b.end(),
                        std::back_inserter(in_both));
  const Sample sample = SampleBelow(threshold);
  const Keys keys_a = sample.KeysOf(in_a.values.size(), in_a.shift),
             keys_b = sample.KeysOf(in_b.values.size(), in_b.shift);
  const auto fewer = static_cast<double>(std::min(cells_a.size(), cells_b.size()));
  const auto more = static_cast<double>(std::max(cells_a.size(), cells_b.size()));
  Keys common{static_cast<double>(in_both.size())};
  if (shift > 0 && fewer > 0) {
    common = CommonKeys(common.value, fewer, more, sample.Cells(shift));
    const double keys_per_cell = std::min(keys_a.value, keys_b.value) / fewer;
    common.value *= keys_per_cell;
    common.variance *= keys_per_cell * keys_per_cell;
  }
  const Keys either{keys_a.value + keys_b.value - common.value,
                    keys_a.variance + keys_b.variance + common.variance};
  OverlapEstimate overlap;
  overlap.a = a.DistinctCount();
  overlap.b = b.DistinctCount();
  overlap.either = sample.Count(either);
  overlap.both = sample.Count(common);
  if (either.value > 0) {
    const double jaccard = common.value / either.value;
    const double variance = threshold == kWhole ? 0 : jaccard * (1 - jaccard) / either.value;
    overlap.jaccard = {jaccard,
                       std::sqrt(variance + common.variance / (either.value * either.value))};
  }
  return overlap;
}

bool KMinimumValues::Merge(const KMinimumValues& other) {
  if (other.seed_ != seed_) return false;
  const std::vector<uint64_t> theirs = other.Sorted();
  KMinimumValues both = *this;
  both.values_.insert(both.values_.end(), theirs.begin(), theirs.end());
  both.k_ = std::min(k_, other.k_);
  both.shift_ = std::max(shift_, other.shift_);
  both.Compact();
  *this = std::move(both);
  return true;
}

size_t KMinimumValues::MemoryBytes() const {
  return sizeof(*this) + values_.capacity() * sizeof(uint64_t);
}

KMinimumValuesOptions KMinimumValues::options() const {
  KMinimumValuesOptions options;
  options.k = k_;
  options.seed = seed_;
  return options;
}

std::string KMinimumValues::Serialize(int precision) const {
  RefuseIf(precision < 1 || precision > 64, "KMinimumValues::Serialize: precision is ", precision,
           ", but must be 1 .. 64 bits");
  const std::vector<uint64_t> all = Sorted();
  const bool full = all.size() == k_;
  const int gap_bits = GapBits(all);
  int shift = std::max(gap_bits - precision, std::min(shift_, gap_bits));
  std::vector<uint64_t> sorted = Rounded(all, shift);
  // Rounding may make two equal: then the threshold is lost, unless k shrinks with them.
  while (full && sorted.size() < kLeastK) sorted = Rounded(all, --shift);
  for (uint64_t& value : sorted) value >>= shift;
  std::string payload;
  ByteWriter out(&payload);
  out.U64(seed_);
  out.Varint(full ? sorted.size() : k_);
  out.U8(static_cast<uint8_t>(shift));
  EncodeSorted(sorted, {}, 0, &out);
  return WriteEnvelope(EnvelopeType::kKMinimumValues, payload);
}

std::optional<KMinimumValues> KMinimumValues::Deserialize(std::string_view bytes,
                                                          std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kKMinimumValues, error);
  KMinimumValues result{KMinimumValuesOptions()};
  result.seed_ = in.U64();
  result.k_ = static_cast<size_t>(in.Varint(kMostK));
  result.shift_ = in.U8();
  SortedValues sorted;
  if (result.k_ < kLeastK || result.shift_ > 63 ||
      !DecodeSorted(&in, UINT64_MAX >> result.shift_, 0, result.k_, &sorted) || !in.Finished()) {
    return in.Refuse("damaged k, shift or hashes");
  }
  result.values_ = std::move(sorted.values);
  for (uint64_t& value : result.values_) value <<= result.shift_;
  return result;
}

}  // namespace rocksieve
