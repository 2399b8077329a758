// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/estimate/hyper_log_log.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "lib/format/bit_io.h"
#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/toolbox/bits.h"
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
  if (!(standard_error > 0 && standard_error < 1 && registers <= std::ldexp(1.0, kMostPrecision))) {
    throw std::invalid_argument("HyperLogLogOptions: standard_error is " +
                                std::to_string(standard_error) +
                                ", but must be 0.0021 .. 1, such as 0.01");
  }
  HyperLogLogOptions options;
  options.precision = kLeastPrecision;
  while (std::ldexp(1.0, options.precision) < registers) options.precision++;
  return options;
}

HyperLogLog::HyperLogLog(const HyperLogLogOptions& options) : options_(options) {
  if (options.precision < kLeastPrecision || options.precision > kMostPrecision) {
    throw std::invalid_argument("HyperLogLogOptions: precision is " +
                                std::to_string(options.precision) +
                                ", but must be 4 .. 18, such as 12 for an error of 1.6 %");
  }
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

}  // namespace rocksieve
