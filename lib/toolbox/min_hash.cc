// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/estimate/min_hash.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"
#include "lib/hash/mix.h"
#include "lib/toolbox/envelope.h"
#include "lib/toolbox/min_hash_bytes.h"

namespace rocksieve {
namespace {

constexpr uint64_t kEmpty = UINT64_MAX;

// So many places an empty one looks at, by a hash of its own, before it orders all of them by such
// a hash. Without a limit, a few keys in a large signature would take time as the square of its
// size; without the attempts before it, many keys would.
constexpr uint64_t kMostAttempts = 256;

// From `places` samples, `equal` of which were equal. For the error one more sample of either kind
// is assumed (Laplace), since 0 or `places` equal ones do not make it certain.
Estimate SimilarityFrom(double equal, double places, double variance_factor) {
  const double smooth = (equal + 1) / (places + 2);
  return {equal / places, std::sqrt(smooth * (1 - smooth) / places * variance_factor)};
}

// By which a sample without replacement, of so many of the union's keys, varies less than one with:
// (n - N) / (n - 1). The number of keys n comes from the places that have none (see
// LinearCount(), here exactly).
double WithoutReplacement(double used, double places) {
  if (used == places) return 1;
  const double keys = std::max(used, std::log1p(-used / places) / std::log1p(-1 / places));
  return keys > 1 ? (keys - used) / (keys - 1) : 0;
}

}  // namespace

bool operator==(const MinHashOptions& a, const MinHashOptions& b) {
  return a.size == b.size && a.method == b.method && a.seed == b.seed;
}

MinHashOptions MinHashOptions::ForError(double standard_error) {
  // sqrt(J (1 - J) / size) is largest for J = 1/2. Written so that NaN is refused too.
  const double places = std::ceil(std::pow(0.5 / standard_error, 2));
  if (!(standard_error > 0 && standard_error < 1 &&
        places <= static_cast<double>(MinHashBytes::kMostPlaces))) {
    throw std::invalid_argument("MinHashOptions: standard_error is " +
                                std::to_string(standard_error) +
                                ", but must be 0.0079 .. 1, such as 0.03");
  }
  MinHashOptions options;
  options.size = static_cast<uint64_t>(places);
  return options;
}

MinHash::MinHash(const MinHashOptions& options) : options_(options) {
  if (options.size < 1 || options.size > MinHashBytes::kMostPlaces) {
    throw std::invalid_argument("MinHashOptions: size is " + std::to_string(options.size) +
                                ", but must be 1 .. 4096, such as 128 for an error of 4.4 %");
  }
  if (options.method != MinHashMethod::kOnePermutation &&
      options.method != MinHashMethod::kIndependent) {
    throw std::invalid_argument("MinHashOptions: unknown method; take kOnePermutation");
  }
  least_.assign(options.size, kEmpty);
}

uint64_t MinHash::KeyHash(std::string_view key) const { return HashKey(key, options_.seed); }

void MinHash::AddHash(uint64_t key_hash) {
  if (options_.method == MinHashMethod::kOnePermutation) {
    key_hash = std::min(key_hash, kEmpty - 1);
    uint64_t& least = least_[MultiplyHigh64(key_hash, options_.size)];
    least = std::min(least, key_hash);
    return;
  }
  for (uint64_t place = 0; place < options_.size; place++) {
    least_[place] = std::min({least_[place], SplitMix64(key_hash, place), kEmpty - 1});
  }
}

Estimate MinHash::Jaccard(const MinHash& a, const MinHash& b) {
  if (a.options_ != b.options_) {
    throw std::invalid_argument(
        "MinHash: signatures of different size, method or seed cannot be "
        "compared; make both with the same MinHashOptions");
  }
  size_t equal = 0, used = 0;
  for (size_t place = 0; place < a.least_.size(); place++) {
    const uint64_t in_a = a.least_[place], in_b = b.least_[place];
    used += in_a != kEmpty || in_b != kEmpty;
    equal += in_a == in_b && in_a != kEmpty;
  }
  if (a.empty() || b.empty()) return {};
  const double places = static_cast<double>(used);
  const bool one_permutation = a.options_.method == MinHashMethod::kOnePermutation;
  return SimilarityFrom(
      static_cast<double>(equal), places,
      one_permutation ? WithoutReplacement(places, static_cast<double>(a.least_.size())) : 1);
}

std::vector<uint64_t> MinHash::Signature() const {
  const size_t size = least_.size();
  std::vector<uint64_t> signature = least_;
  if (empty()) return signature;
  std::vector<uint64_t> used;
  for (uint64_t place = 0; place < size; place++) {
    if (least_[place] != kEmpty) used.push_back(place);
  }
  for (uint64_t place = 0; place < size; place++) {
    const uint64_t order = Mix64(options_.seed) + place;
    for (uint64_t attempt = 0; signature[place] == kEmpty && attempt < kMostAttempts; attempt++) {
      signature[place] = least_[MultiplyHigh64(SplitMix64(order, attempt), size)];
    }
    if (signature[place] != kEmpty) continue;
    const auto rank = [&](uint64_t other) { return SplitMix64(order, kMostAttempts + other); };
    signature[place] = least_[*std::min_element(
        used.begin(), used.end(), [&](uint64_t a, uint64_t b) { return rank(a) < rank(b); })];
  }
  return signature;
}

bool MinHash::Merge(const MinHash& other) {
  if (other.options_ != options_) return false;
  for (size_t place = 0; place < least_.size(); place++) {
    least_[place] = std::min(least_[place], other.least_[place]);
  }
  return true;
}

bool MinHash::empty() const {
  return std::all_of(least_.begin(), least_.end(), [](uint64_t value) { return value == kEmpty; });
}

size_t MinHash::MemoryBytes() const { return sizeof(*this) + least_.capacity() * sizeof(uint64_t); }

void MinHashBytes::WriteOptions(const MinHashOptions& options, ByteWriter* out) {
  out->U64(options.seed);
  out->U8(static_cast<uint8_t>(options.method));
  out->Varint(options.size);
}

MinHashOptions MinHashBytes::ReadOptions(ByteReader* in) {
  MinHashOptions options;
  options.seed = in->U64();
  const uint8_t method = in->U8();
  options.method = static_cast<MinHashMethod>(method);
  options.size = in->Varint(kMostPlaces);
  if (method < 1 || method > 2 || options.size == 0) in->Fail();
  return options;
}

void MinHashBytes::WritePlaces(const MinHash& signature, ByteWriter* out) {
  for (const uint64_t value : signature.least_) out->U64(value);
}

MinHash MinHashBytes::ReadPlaces(const MinHashOptions& options, ByteReader* in) {
  MinHash signature(options);
  const bool one_permutation = options.method == MinHashMethod::kOnePermutation;
  size_t empty = 0;
  for (uint64_t place = 0; place < options.size && in->ok(); place++) {
    const uint64_t value = in->U64();
    signature.least_[place] = value;
    empty += value == UINT64_MAX;
    const bool elsewhere = MultiplyHigh64(value, options.size) != place;
    if (one_permutation && value != UINT64_MAX && elsewhere) in->Fail();
  }
  // The first key gives a value to all places of independent hash functions.
  if (!one_permutation && empty != 0 && empty != options.size) in->Fail();
  return signature;
}

std::string MinHash::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  MinHashBytes::WriteOptions(options_, &out);
  MinHashBytes::WritePlaces(*this, &out);
  return WriteEnvelope(EnvelopeType::kMinHash, payload);
}

std::optional<MinHash> MinHash::Deserialize(std::string_view bytes, std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kMinHash, error);
  const MinHashOptions options = MinHashBytes::ReadOptions(&in);
  if (!in.ok()) return in.Refuse("damaged options");
  MinHash signature = MinHashBytes::ReadPlaces(options, &in);
  if (!in.Finished()) return in.Refuse("damaged places");
  return signature;
}

}  // namespace rocksieve
