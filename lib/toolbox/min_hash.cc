// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <rocksieve/estimate/lsh_index.h>
#include <rocksieve/estimate/min_hash.h>

#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"
#include "lib/hash/mix.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {

// The options and the places of signatures as bytes: alone in an envelope, or in an LSH index.
class MinHashBytes {
 public:
  static constexpr uint64_t kMostPlaces = 4096;

  static void WriteOptions(const MinHashOptions& options, ByteWriter* out);
  // Fails, if no signature can have these options.
  static MinHashOptions ReadOptions(ByteReader* in);

  static void WritePlaces(const MinHash& signature, ByteWriter* out);
  // Fails, if places are missing or have values that no key can give them. REQUIRES: valid options.
  static MinHash ReadPlaces(const MinHashOptions& options, ByteReader* in);
};

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
  RefuseIf(!(standard_error > 0 && standard_error < 1 &&
             places <= static_cast<double>(MinHashBytes::kMostPlaces)),
           "MinHashOptions: standard_error is ", standard_error,
           ", but must be from 0.0079 and below 1, such as 0.03");
  MinHashOptions options;
  options.size = static_cast<uint64_t>(places);
  return options;
}

MinHash::MinHash(const MinHashOptions& options) : options_(options) {
  RefuseIf(options.size < 1 || options.size > MinHashBytes::kMostPlaces, "MinHashOptions: size is ",
           options.size, ", but must be 1 .. 4096, such as 128 for an error of 4.4 %");
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

namespace {

// The integral of `f` by Simpson's rule: the S is smooth, and only areas are compared.
template <typename Function>
double Area(double from, double to, const Function& f) {
  constexpr int kSteps = 32;  // even
  const double step = (to - from) / kSteps;
  double sum = f(from) + f(to);
  for (int i = 1; i < kSteps; i++) sum += f(from + i * step) * (i % 2 == 1 ? 4 : 2);
  return sum * step / 3;
}

double Cost(const LshBanding& banding, double threshold, double miss_weight) {
  const double false_candidates =
      Area(0, threshold, [&](double s) { return banding.CandidateProbability(s); });
  const double missed =
      Area(threshold, 1, [&](double s) { return 1 - banding.CandidateProbability(s); });
  return false_candidates + miss_weight * missed;
}

// The bands and rows fit into a signature. Written so that no product overflows.
bool Fits(const LshBanding& banding, uint64_t size) {
  return banding.bands >= 1 && banding.rows >= 1 && banding.bands <= size &&
         banding.rows <= size / banding.bands;
}

void SortUnique(auto* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

}  // namespace

LshBanding LshBanding::ForThreshold(uint64_t signature_size, double threshold, double miss_weight) {
  RefuseIf(signature_size < 1 || signature_size > MinHashBytes::kMostPlaces,
           "LshBanding: signature_size is ", signature_size,
           ", but must be 1 .. 4096, that of the signatures");
  RefuseIf(!(threshold > 0 && threshold < 1), "LshBanding: threshold is ", threshold,
           ", but must be between 0 and 1, such as 0.8");
  RefuseIf(!(miss_weight > 0), "LshBanding: miss_weight is ", miss_weight,
           ", but must be above 0; 1 weighs both mistakes alike");
  LshBanding best;
  double least = std::numeric_limits<double>::infinity();
  for (uint64_t rows = 1; rows <= signature_size; rows++) {
    // More bands move the S to the left: what is met in vain grows and what is missed shrinks. From
    // the most bands downwards the cost falls, and once it rises it rises for good.
    double before = std::numeric_limits<double>::infinity();
    for (uint64_t bands = signature_size / rows; bands >= 1; bands--) {
      const LshBanding banding{bands, rows};
      const double cost = Cost(banding, threshold, miss_weight);
      if (cost > before) break;
      before = cost;
      if (cost < least) {
        least = cost;
        best = banding;
      }
    }
  }
  return best;
}

double LshBanding::CandidateProbability(double similarity) const {
  const double band = std::pow(similarity, static_cast<double>(rows));
  // 1 - (1 - band)^bands, exact for small ones too.
  return band >= 1 ? 1 : -std::expm1(static_cast<double>(bands) * std::log1p(-band));
}

double LshBanding::HalfPoint() const {
  return std::pow(-std::expm1(-std::log(2.0) / static_cast<double>(bands)),
                  1 / static_cast<double>(rows));
}

LshIndex::LshIndex(const LshOptions& options) : options_(options) {
  const MinHash checks_its_options(options.signature);
  if (!Fits(options.banding, options.signature.size)) {
    throw std::invalid_argument("LshOptions: banding has " + std::to_string(options.banding.bands) +
                                " bands of " + std::to_string(options.banding.rows) +
                                " rows, but both must be at least 1, and together at most the "
                                "signature's size, " +
                                std::to_string(options.signature.size) +
                                "; LshBanding::ForThreshold() chooses them");
  }
}

std::vector<uint64_t> LshIndex::BandHashes(const MinHash& signature) const {
  const std::vector<uint64_t> values = signature.Signature();
  const size_t rows = options_.banding.rows;
  std::vector<uint64_t> hashes;
  hashes.reserve(options_.banding.bands);
  for (size_t band = 0; band < options_.banding.bands; band++) {
    // These hashes stay in memory: the machine's byte order does no harm.
    const char* const first = reinterpret_cast<const char*>(values.data() + band * rows);
    hashes.push_back(HashKey({first, rows * sizeof(uint64_t)}, band));
  }
  return hashes;
}

bool LshIndex::Add(uint64_t id, const MinHash& signature) {
  if (signature.options() != options_.signature || signature.empty() ||
      !signatures_.emplace(id, signature).second) {
    return false;
  }
  for (const uint64_t band : BandHashes(signature)) sets_of_band_[band].push_back(id);
  return true;
}

bool LshIndex::Remove(uint64_t id) {
  const auto it = signatures_.find(id);
  if (it == signatures_.end()) return false;
  for (const uint64_t band : BandHashes(it->second)) {
    const auto sets = sets_of_band_.find(band);
    sets->second.erase(std::find(sets->second.begin(), sets->second.end(), id));
    if (sets->second.empty()) sets_of_band_.erase(sets);
  }
  signatures_.erase(it);
  return true;
}

std::vector<uint64_t> LshIndex::Candidates(const MinHash& signature) const {
  if (signature.options() != options_.signature) {
    throw std::invalid_argument(
        "LshIndex: a signature of other options than the index has; make it "
        "with LshOptions::signature");
  }
  std::vector<uint64_t> candidates;
  if (signature.empty()) return candidates;
  for (const uint64_t band : BandHashes(signature)) {
    const auto sets = sets_of_band_.find(band);
    if (sets == sets_of_band_.end()) continue;
    candidates.insert(candidates.end(), sets->second.begin(), sets->second.end());
  }
  SortUnique(&candidates);
  return candidates;
}

std::vector<LshIndex::Match> LshIndex::Similar(const MinHash& signature,
                                               double least_similarity) const {
  std::vector<Match> matches;
  for (const uint64_t id : Candidates(signature)) {
    const Estimate similarity = MinHash::Jaccard(signatures_.at(id), signature);
    if (similarity.value >= least_similarity) matches.push_back({id, similarity});
  }
  std::stable_sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return a.similarity.value > b.similarity.value;
  });
  return matches;
}

std::vector<std::pair<uint64_t, uint64_t>> LshIndex::CandidatePairs() const {
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  for (const auto& entry : sets_of_band_) {
    const std::vector<uint64_t>& sets = entry.second;
    for (size_t i = 0; i < sets.size(); i++) {
      for (size_t j = i + 1; j < sets.size(); j++) pairs.push_back(std::minmax(sets[i], sets[j]));
    }
  }
  SortUnique(&pairs);
  return pairs;
}

std::vector<LshIndex::Pair> LshIndex::SimilarPairs(double least_similarity) const {
  std::vector<Pair> similar;
  for (const auto& [a, b] : CandidatePairs()) {
    const Estimate similarity = MinHash::Jaccard(signatures_.at(a), signatures_.at(b));
    if (similarity.value >= least_similarity) similar.push_back({a, b, similarity});
  }
  return similar;
}

const MinHash* LshIndex::Find(uint64_t id) const {
  const auto it = signatures_.find(id);
  return it == signatures_.end() ? nullptr : &it->second;
}

bool LshIndex::Merge(const LshIndex& other) {
  if (other.options_.signature != options_.signature ||
      other.options_.banding.bands != options_.banding.bands ||
      other.options_.banding.rows != options_.banding.rows) {
    return false;
  }
  for (const auto& entry : other.signatures_) {
    if (signatures_.count(entry.first) != 0) return false;
  }
  for (const auto& [id, signature] : other.signatures_) Add(id, signature);
  return true;
}

size_t LshIndex::MemoryBytes() const {
  constexpr size_t kTreeNodeBytes = 4 * sizeof(void*), kHashNodeBytes = 2 * sizeof(void*);
  size_t bytes = sizeof(*this) + sets_of_band_.bucket_count() * sizeof(void*);
  for (const auto& entry : signatures_) {
    bytes += kTreeNodeBytes + sizeof(entry.first) + entry.second.MemoryBytes();
  }
  for (const auto& entry : sets_of_band_) {
    bytes += kHashNodeBytes + sizeof(entry) + entry.second.capacity() * sizeof(uint64_t);
  }
  return bytes;
}

std::string LshIndex::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  MinHashBytes::WriteOptions(options_.signature, &out);
  out.Varint(options_.banding.bands);
  out.Varint(options_.banding.rows);
  out.Varint(signatures_.size());
  for (const auto& [id, signature] : signatures_) {
    out.Varint(id);
    MinHashBytes::WritePlaces(signature, &out);
  }
  return WriteEnvelope(EnvelopeType::kLshIndex, payload);
}

std::optional<LshIndex> LshIndex::Deserialize(std::string_view bytes, std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kLshIndex, error);
  LshOptions options;
  options.signature = MinHashBytes::ReadOptions(&in);
  options.banding.bands = in.Varint();
  options.banding.rows = in.Varint();
  const uint64_t sets = in.Varint(in.remaining());
  if (!in.ok() || !Fits(options.banding, options.signature.size)) {
    return in.Refuse("damaged options");
  }
  LshIndex index(options);
  for (uint64_t i = 0; i < sets; i++) {
    const uint64_t id = in.Varint();
    if (in.ok() && i > 0 && id <= index.signatures_.rbegin()->first) {
      return in.Refuse("sets out of order");
    }
    const MinHash signature = MinHashBytes::ReadPlaces(options.signature, &in);
    if (!in.ok() || !index.Add(id, signature)) return in.Refuse("damaged signature");
  }
  if (!in.Finished()) return in.Refuse("bytes after the last set");
  return index;
}

}  // namespace rocksieve
