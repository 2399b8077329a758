// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/estimate/k_minimum_values.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/sketch/kmv.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {
namespace {

constexpr double kRounding = 1e-12;  // 1 / 0.01^2 is 10,000 and a bit

}  // namespace

KMinimumValuesOptions KMinimumValuesOptions::ForError(double standard_error) {
  // Written so that NaN is refused too.
  const double hashes = std::ceil(1 / (standard_error * standard_error) * (1 - kRounding));
  if (!(standard_error > 0 && standard_error < 1 &&
        hashes <= static_cast<double>(KmvSketch::kMostK))) {
    throw std::invalid_argument("KMinimumValuesOptions: standard_error is " +
                                std::to_string(standard_error) +
                                ", but must be 0.001 .. 1, such as 0.01");
  }
  KMinimumValuesOptions options;
  options.k = std::max<uint64_t>(KmvSketch::kLeastK, static_cast<uint64_t>(hashes));
  return options;
}

KMinimumValues::KMinimumValues(const KMinimumValuesOptions& options) : seed_(options.seed) {
  if (options.k < KmvSketch::kLeastK || options.k > KmvSketch::kMostK) {
    throw std::invalid_argument("KMinimumValuesOptions: k is " + std::to_string(options.k) +
                                ", but must be 3 .. 1048576, such as 1024 for an error of 3 %");
  }
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
  if (precision < 1 || precision > KmvSketch::kFullPrecision) {
    throw std::invalid_argument("KMinimumValues::Serialize: precision is " +
                                std::to_string(precision) + ", but must be 1 .. 64 bits");
  }
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
