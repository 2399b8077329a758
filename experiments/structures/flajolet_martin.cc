// SPDX-License-Identifier: Apache-2.0
#include "experiments/structures/flajolet_martin.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "lib/format/byte_io.h"
#include "lib/hash/key_hash.h"
#include "lib/toolbox/bits.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {
namespace {

constexpr uint64_t kFewestBitmaps = 16, kMostBitmaps = 65536;
constexpr double kPhi = 0.77351;  // Flajolet and Martin
constexpr double kKappa = 1.75;   // Scheuermann and Mauve
// Keys per bitmap: below the first the empty bitmaps tell more, above the second those hardly tell
// anything. A sudden change between them would bias those close to it.
constexpr double kLinearLoad = 2, kLogarithmicLoad = 4;

bool Valid(uint64_t bitmaps) {
  return bitmaps >= kFewestBitmaps && bitmaps <= kMostBitmaps && std::has_single_bit(bitmaps);
}

// The top bits choose the bitmap; the zeros at the other end, of the bits that are left, the bit.
uint64_t BitOf(uint64_t key_hash, int index_bits) {
  const uint64_t end = uint64_t{1} << (63 - index_bits);
  return uint64_t{1} << std::countr_zero(key_hash | end);
}

}  // namespace

FlajoletMartin::FlajoletMartin(const FlajoletMartinOptions& options) : options_(options) {
  if (!Valid(options.bitmaps)) {
    throw std::invalid_argument("FlajoletMartinOptions: bitmaps is " +
                                std::to_string(options.bitmaps) +
                                ", but must be a power of two from 16 to 65536, such as 256");
  }
  index_bits_ = std::countr_zero(options.bitmaps);
  bitmaps_.resize(options.bitmaps);
}

uint64_t FlajoletMartin::KeyHash(std::string_view key) const { return HashKey(key, options_.seed); }

void FlajoletMartin::AddHash(uint64_t key_hash) {
  bitmaps_[key_hash >> (64 - index_bits_)] |= BitOf(key_hash, index_bits_);
}

void FlajoletMartin::AddHashConcurrently(uint64_t key_hash) {
  uint64_t& bitmap = bitmaps_[key_hash >> (64 - index_bits_)];
  const uint64_t bit = BitOf(key_hash, index_bits_);
  if ((LoadRelaxed(bitmap) & bit) != 0) return;  // the cache line stays shared
  std::atomic_ref<uint64_t>(bitmap).fetch_or(bit, std::memory_order_relaxed);
}

Estimate FlajoletMartin::DistinctCount() const {
  uint64_t empty = 0, ones = 0;
  for (const uint64_t& entry : bitmaps_) {
    const uint64_t bitmap = LoadRelaxed(entry);
    empty += bitmap == 0;
    ones += static_cast<uint64_t>(std::countr_one(bitmap));
  }
  const double m = static_cast<double>(bitmaps_.size());
  const double mean = static_cast<double>(ones) / m;
  const double value = m / kPhi * (std::exp2(mean) - std::exp2(-kKappa * mean)) / (1 + 0.31 / m);
  const Estimate logarithmic = {value, 0.78 / std::sqrt(m) * value};
  if (empty == 0) return logarithmic;
  const Estimate linear = LinearCount(m, static_cast<double>(empty));
  const double share =
      std::clamp((kLogarithmicLoad - value / m) / (kLogarithmicLoad - kLinearLoad), 0.0, 1.0);
  // Their errors are nearly independent, as tests/toolbox/distinct_test.cc shows.
  return {share * linear.value + (1 - share) * logarithmic.value,
          std::hypot(share * linear.standard_error, (1 - share) * logarithmic.standard_error)};
}

bool FlajoletMartin::Merge(const FlajoletMartin& other) {
  if (other.options_.bitmaps != options_.bitmaps || other.options_.seed != options_.seed) {
    return false;
  }
  for (size_t i = 0; i < bitmaps_.size(); i++) bitmaps_[i] |= LoadRelaxed(other.bitmaps_[i]);
  return true;
}

size_t FlajoletMartin::MemoryBytes() const {
  return sizeof(*this) + bitmaps_.capacity() * sizeof(uint64_t);
}

std::string FlajoletMartin::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(options_.seed);
  out.U8(static_cast<uint8_t>(index_bits_));
  for (const uint64_t& bitmap : bitmaps_) out.U64(LoadRelaxed(bitmap));
  return WriteEnvelope(EnvelopeType::kFlajoletMartin, payload);
}

std::optional<FlajoletMartin> FlajoletMartin::Deserialize(std::string_view bytes,
                                                          std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kFlajoletMartin, error);
  FlajoletMartinOptions options;
  options.seed = in.U64();
  const uint8_t index_bits = in.U8();
  options.bitmaps = index_bits < 64 ? uint64_t{1} << index_bits : 0;
  if (!in.ok() || !Valid(options.bitmaps)) return in.Refuse("damaged first fields");
  if (in.remaining() != options.bitmaps * sizeof(uint64_t)) {
    return in.Refuse("not as many bytes as the bitmaps need");
  }
  FlajoletMartin sketch(options);
  for (uint64_t& bitmap : sketch.bitmaps_) {
    bitmap = in.U64();
    if (bitmap >> 1 >> (63 - index_bits) != 0) {
      return in.Refuse("a bit that no key can set");
    }
  }
  return sketch;
}

}  // namespace rocksieve
