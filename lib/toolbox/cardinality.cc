// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include <rocksieve/estimate/hyper_log_log.h>
#include <rocksieve/estimate/k_minimum_values.h>

#include "lib/format/bit_io.h"
#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/sketch/estimators.h"
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
      ", but must be 0.0021 .. 1, such as 0.01");
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
  if (value <= 2.5 * m && empty > 0) return LinearCount(m, static_cast<double>(empty));
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

constexpr double kRounding = 1e-12;  // 1 / 0.01^2 is 10,000 and a bit

}  // namespace

KMinimumValuesOptions KMinimumValuesOptions::ForError(double standard_error) {
  // Written so that NaN is refused too.
  const double hashes = std::ceil(1 / (standard_error * standard_error) * (1 - kRounding));
  RefuseIf(!(standard_error > 0 && standard_error < 1 &&
             hashes <= static_cast<double>(KmvSketch::kMostK)),
           "KMinimumValuesOptions: standard_error is ", standard_error,
           ", but must be 0.001 .. 1, such as 0.01");
  KMinimumValuesOptions options;
  options.k = std::max<uint64_t>(KmvSketch::kLeastK, static_cast<uint64_t>(hashes));
  return options;
}

KMinimumValues::KMinimumValues(const KMinimumValuesOptions& options) : seed_(options.seed) {
  RefuseIf(options.k < KmvSketch::kLeastK || options.k > KmvSketch::kMostK,
           "KMinimumValuesOptions: k is ", options.k,
           ", but must be 3 .. 1048576, such as 1024 for an error of 3 %");
  sketch_ = std::make_unique<KmvSketch>(options.k);
}

KMinimumValues::KMinimumValues(const KMinimumValues& other)
    : sketch_(std::make_unique<KmvSketch>(*other.sketch_)), seed_(other.seed_) {}
KMinimumValues::KMinimumValues(KMinimumValues&& other) noexcept = default;
KMinimumValues::~KMinimumValues() = default;

KMinimumValues& KMinimumValues::operator=(KMinimumValues other) noexcept {
  std::swap(sketch_, other.sketch_);
  std::swap(seed_, other.seed_);
  return *this;
}

uint64_t KMinimumValues::KeyHash(std::string_view key) const { return HashKey(key, seed_); }

void KMinimumValues::AddHash(uint64_t key_hash) { sketch_->Add(key_hash); }

Estimate KMinimumValues::DistinctCount() const { return sketch_->DistinctCount(); }

OverlapEstimate KMinimumValues::Overlap(const KMinimumValues& a, const KMinimumValues& b) {
  if (a.seed_ != b.seed_) {
    throw std::invalid_argument(
        "KMinimumValues: two sketches of different seeds tell nothing of "
        "their overlap; make both with the same KMinimumValuesOptions::seed");
  }
  return KmvSketch::Overlap(*a.sketch_, *b.sketch_);
}

bool KMinimumValues::Merge(const KMinimumValues& other) {
  if (other.seed_ != seed_) return false;
  sketch_->Merge(*other.sketch_);
  return true;
}

size_t KMinimumValues::MemoryBytes() const { return sizeof(*this) + sketch_->MemoryBytes(); }

KMinimumValuesOptions KMinimumValues::options() const {
  KMinimumValuesOptions options;
  options.k = sketch_->k();
  options.seed = seed_;
  return options;
}

std::string KMinimumValues::Serialize(int precision) const {
  RefuseIf(precision < 1 || precision > KmvSketch::kFullPrecision,
           "KMinimumValues::Serialize: precision is ", precision, ", but must be 1 .. 64 bits");
  std::string payload;
  ByteWriter out(&payload);
  out.U64(seed_);
  sketch_->Write(precision, &out);
  return WriteEnvelope(EnvelopeType::kKMinimumValues, payload);
}

std::optional<KMinimumValues> KMinimumValues::Deserialize(std::string_view bytes,
                                                          std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kKMinimumValues, error);
  KMinimumValuesOptions options;
  options.seed = in.U64();
  KMinimumValues result(options);
  if (!result.sketch_->Read(&in, KmvSketch::kMostK) || !in.Finished()) {
    return in.Refuse("damaged k, shift or hashes");
  }
  return result;
}

}  // namespace rocksieve
