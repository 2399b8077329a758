// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <rocksieve/dynamic/bloom_filter.h>

#include "lib/hash/key_hash.h"
#include "lib/toolbox/bloom_options.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve::bloom {
namespace {

// Empty, or what Checked() would say.
std::string WhatIsWrong(const BloomFilterOptions& options, const char* owner,
                        const char* positions_field) {
  const std::string name(owner), positions(positions_field);
  if (options.hashes < 1 || options.hashes > BloomFilterOptions::kMostHashes) {
    return name + ": hashes is " + std::to_string(options.hashes) +
           "; give 1 to 64, or let ForKeys() choose";
  }
  if (options.bits < 1 || options.bits > BloomFilterOptions::kMostBits) {
    return name + ": " + positions + " is " + std::to_string(options.bits) +
           "; give 1 to 2^48, or let ForKeys() choose";
  }
  if (options.hashing != BloomHashing::kDouble &&
      options.hashing != BloomHashing::kEnhancedDouble &&
      options.hashing != BloomHashing::kIndependent) {
    return name + ": hashing is none of BloomHashing's values";
  }
  return "";
}

}  // namespace

BloomFilterOptions Checked(const BloomFilterOptions& options, const char* owner,
                           const char* positions_field) {
  const std::string wrong = WhatIsWrong(options, owner, positions_field);
  if (!wrong.empty()) throw std::invalid_argument(wrong);
  BloomFilterOptions rounded = options;
  if (options.layout == BloomLayout::kPartitioned) {
    const uint64_t arrays = static_cast<uint64_t>(options.hashes);
    rounded.bits = (options.bits + arrays - 1) / arrays * arrays;
  }
  return rounded;
}

void WriteOptions(const BloomFilterOptions& options, ByteWriter* out) {
  out->U64(options.bits);
  out->U8(static_cast<uint8_t>(options.hashes));
  out->U8(static_cast<uint8_t>(options.hashing));
  out->U64(options.seed);
}

BloomFilterOptions ReadOptions(ByteReader* in, BloomLayout layout) {
  BloomFilterOptions options;
  options.bits = in->U64();
  options.hashes = in->U8();
  options.hashing = static_cast<BloomHashing>(in->U8());
  options.seed = in->U64();
  options.layout = layout;
  const bool whole_arrays = layout == BloomLayout::kOneArray || options.hashes == 0 ||
                            options.bits % static_cast<uint64_t>(options.hashes) == 0;
  if (!whole_arrays || !WhatIsWrong(options, "", "").empty()) in->Fail();
  return in->ok() ? options : BloomFilterOptions();
}

}  // namespace rocksieve::bloom

namespace rocksieve {
namespace {

// k n / m at which the rate is reached.
double LoadForRate(int hashes, double rate) {
  return -std::log1p(-std::exp(std::log(rate) / hashes));
}

}  // namespace

double BloomFalsePositiveRate(uint64_t bits, int hashes, uint64_t keys) {
  const double load =
      static_cast<double>(hashes) * static_cast<double>(keys) / static_cast<double>(bits);
  return std::pow(-std::expm1(-load), hashes);
}

int OptimalBloomHashes(uint64_t bits, uint64_t keys) {
  const double best = static_cast<double>(bits) / static_cast<double>(keys) * std::log(2);
  if (best >= BloomFilterOptions::kMostHashes) return BloomFilterOptions::kMostHashes;
  const int below = std::max(1, static_cast<int>(best));
  const int above = std::min(below + 1, BloomFilterOptions::kMostHashes);
  return BloomFalsePositiveRate(bits, above, keys) < BloomFalsePositiveRate(bits, below, keys)
             ? above
             : below;
}

double BloomBitsForRate(int hashes, uint64_t keys, double false_positive_rate) {
  return hashes * static_cast<double>(keys) / LoadForRate(hashes, false_positive_rate);
}

uint64_t MostBloomKeys(uint64_t bits, int hashes, double false_positive_rate) {
  return static_cast<uint64_t>(static_cast<double>(bits) / hashes *
                               LoadForRate(hashes, false_positive_rate));
}

BloomFilterOptions BloomFilterOptions::ForKeys(uint64_t keys, double false_positive_rate) {
  if (keys == 0) {
    throw std::invalid_argument(
        "BloomFilterOptions: keys is 0; give the number of distinct keys that are expected, at "
        "least 1, or use a ScalableBloomFilter if nobody knows it");
  }
  RefuseIf(!(false_positive_rate > 0 && false_positive_rate < 1),
           "BloomFilterOptions: false_positive_rate is ", false_positive_rate,
           "; give a fraction between 0 and 1, such as 0.01 for 1 %");
  // The best k is log2(1 / rate) for real numbers; of integers, one of those around it.
  const double best = -std::log2(false_positive_rate);
  const int below = std::clamp(static_cast<int>(best), 1, kMostHashes);
  const int above = std::min(below + 1, kMostHashes);
  const double bits_below = BloomBitsForRate(below, keys, false_positive_rate);
  const double bits_above = BloomBitsForRate(above, keys, false_positive_rate);
  const double bits = std::ceil(std::min(bits_below, bits_above));
  if (!(bits <= static_cast<double>(kMostBits))) {
    throw std::invalid_argument(
        "BloomFilterOptions: so many keys at so low a rate need more than 2^48 bits; give fewer "
        "keys or a higher rate");
  }
  BloomFilterOptions options;
  options.bits = std::max<uint64_t>(1, static_cast<uint64_t>(bits));
  options.hashes = bits_above < bits_below ? above : below;
  return options;
}

BloomFilter::BloomFilter(const BloomFilterOptions& options)
    : options_(bloom::Checked(options, "BloomFilterOptions", "bits")),
      words_(WordsForBits(options_.bits)) {}

uint64_t BloomFilter::KeyHash(std::string_view key) const { return HashKey(key, options_.seed); }

void BloomFilter::AddHash(uint64_t hash) {
  bloom::VisitProbes(options_, hash, [this](uint64_t bit) {
    // Load and store are two steps, so only one thread may do this; atomic ones for those who
    // query.
    const uint64_t word = LoadRelaxed(words_[bit / 64]) | uint64_t{1} << bit % 64;
    std::atomic_ref<uint64_t>(words_[bit / 64]).store(word, std::memory_order_relaxed);
    return true;
  });
}

uint64_t BloomFilter::AddHashCountingNewBits(uint64_t hash) {
  uint64_t new_bits = 0;
  bloom::VisitProbes(options_, hash, [this, &new_bits](uint64_t bit) {
    const uint64_t mask = uint64_t{1} << bit % 64;
    new_bits += (words_[bit / 64] & mask) == 0;
    words_[bit / 64] |= mask;
    return true;
  });
  return new_bits;
}

void BloomFilter::AddHashConcurrently(uint64_t hash) {
  bloom::VisitProbes(options_, hash, [this](uint64_t bit) {
    const uint64_t mask = uint64_t{1} << bit % 64;
    // Half of the bits are there already: then the cache line stays shared.
    if ((LoadRelaxed(words_[bit / 64]) & mask) == 0) {
      std::atomic_ref<uint64_t>(words_[bit / 64]).fetch_or(mask, std::memory_order_relaxed);
    }
    return true;
  });
}

bool BloomFilter::MayContainHash(uint64_t hash) const {
  return bloom::VisitProbes(options_, hash, [this](uint64_t bit) {
    return (LoadRelaxed(words_[bit / 64]) >> bit % 64 & 1) != 0;
  });
}

bool BloomFilter::RemoveHashLosingOthers(uint64_t hash, ZeroedBits which) {
  if (!MayContainHash(hash)) return false;
  bloom::VisitProbes(options_, hash, [this, which](uint64_t bit) {
    words_[bit / 64] &= ~(uint64_t{1} << bit % 64);
    return which == ZeroedBits::kAllBits;
  });
  return true;
}

bool BloomFilter::Merge(const BloomFilter& other) {
  if (other.options_ != options_) return false;
  for (size_t i = 0; i < words_.size(); i++) words_[i] |= LoadRelaxed(other.words_[i]);
  return true;
}

bool BloomFilter::AndBits(const BloomFilter& other) {
  if (other.options_ != options_) return false;
  for (size_t i = 0; i < words_.size(); i++) words_[i] &= LoadRelaxed(other.words_[i]);
  return true;
}

namespace {

// n for a share of zeros, each key having thrown `hashes` bits into one array, or one into each.
double KeysFromZeros(const BloomFilterOptions& options, double zero_share) {
  const double bits = static_cast<double>(options.bits), hashes = options.hashes;
  const bool partitioned = options.layout == BloomLayout::kPartitioned;
  const double per_key = partitioned ? std::log1p(-hashes / bits) : hashes * std::log1p(-1 / bits);
  return zero_share == 1 ? 0 : std::log(zero_share) / per_key;
}

// V(L) for n keys.
double Spread(const BloomFilterOptions& options, double keys) {
  const double load = options.hashes * std::max(0.0, keys) / static_cast<double>(options.bits);
  return std::expm1(load) - load;
}

double ErrorFromSpread(const BloomFilterOptions& options, double spread) {
  return std::sqrt(static_cast<double>(options.bits) * std::max(0.0, spread)) / options.hashes;
}

Estimate KeysFromOnes(const BloomFilterOptions& options, uint64_t ones) {
  if (ones == options.bits) {
    return {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
  const double keys =
      KeysFromZeros(options, 1 - static_cast<double>(ones) / static_cast<double>(options.bits));
  return {keys, ErrorFromSpread(options, Spread(options, keys))};
}

}  // namespace

uint64_t BloomFilter::CountOnes(uint64_t begin_bit, uint64_t end_bit) const {
  uint64_t ones = 0;
  for (uint64_t i = begin_bit / 64; i * 64 < end_bit; i++) {
    uint64_t word = LoadRelaxed(words_[i]);
    if (i * 64 < begin_bit) word &= ~uint64_t{0} << begin_bit % 64;
    if (end_bit - i * 64 < 64) word &= ~(~uint64_t{0} << end_bit % 64);
    ones += static_cast<uint64_t>(std::popcount(word));
  }
  return ones;
}

double BloomFilter::FillRatio() const {
  return static_cast<double>(CountOnes(0, options_.bits)) / static_cast<double>(options_.bits);
}

double BloomFilter::ExpectedFalsePositiveRate() const {
  if (options_.layout == BloomLayout::kOneArray) return std::pow(FillRatio(), options_.hashes);
  const uint64_t array_bits = options_.bits / static_cast<uint64_t>(options_.hashes);
  double rate = 1;
  for (uint64_t begin = 0; begin < options_.bits; begin += array_bits) {
    rate *=
        static_cast<double>(CountOnes(begin, begin + array_bits)) / static_cast<double>(array_bits);
  }
  return rate;
}

Estimate BloomFilter::EstimateKeys() const {
  return KeysFromOnes(options_, CountOnes(0, options_.bits));
}

std::optional<Estimate> BloomFilter::EstimateUnion(const BloomFilter& a, const BloomFilter& b) {
  if (a.options_ != b.options_) return std::nullopt;
  uint64_t ones = 0;
  for (size_t i = 0; i < a.words_.size(); i++) {
    ones +=
        static_cast<uint64_t>(std::popcount(LoadRelaxed(a.words_[i]) | LoadRelaxed(b.words_[i])));
  }
  return KeysFromOnes(a.options_, ones);
}

std::optional<Estimate> BloomFilter::EstimateIntersection(const BloomFilter& a,
                                                          const BloomFilter& b) {
  const std::optional<Estimate> either = EstimateUnion(a, b);
  if (!either) return std::nullopt;
  const BloomFilterOptions& options = a.options_;
  const double in_a = a.EstimateKeys().value, in_b = b.EstimateKeys().value;
  const double both = in_a + in_b - either->value;
  const double spread = Spread(options, either->value) - Spread(options, in_a) -
                        Spread(options, in_b) + 2 * Spread(options, both);
  return Estimate{both, ErrorFromSpread(options, spread)};
}

std::string BloomFilter::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  bloom::WriteOptions(options_, &out);
  WriteBits(words_, options_.bits, &out);
  return WriteEnvelope(options_.layout == BloomLayout::kPartitioned
                           ? EnvelopeType::kPartitionedBloom
                           : EnvelopeType::kBloom,
                       payload);
}

std::optional<BloomFilter> BloomFilter::Deserialize(std::string_view bytes, std::string* error) {
  // Of the two types, that which the bytes call themselves; the envelope is checked after that.
  const bool partitioned =
      bytes.size() > 5 && ByteAt(bytes, 5) == static_cast<uint8_t>(EnvelopeType::kPartitionedBloom);
  PayloadReader in(bytes, partitioned ? EnvelopeType::kPartitionedBloom : EnvelopeType::kBloom,
                   error);
  const BloomFilterOptions options =
      bloom::ReadOptions(&in, partitioned ? BloomLayout::kPartitioned : BloomLayout::kOneArray);
  // Only now that the bytes are there is so much allocated.
  if (!in.ok() || in.remaining() != BytesForBits(options.bits)) {
    return in.Refuse("impossible sizes");
  }
  BloomFilter filter(options);
  ReadBits(&in, options.bits, &filter.words_);
  if (!in.Finished()) return in.Refuse("set bits behind the last one");
  return filter;
}

}  // namespace rocksieve
