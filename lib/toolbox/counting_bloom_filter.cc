// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/dynamic/counting_bloom_filter.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lib/hash/key_hash.h"
#include "lib/toolbox/bits.h"
#include "lib/toolbox/bloom_options.h"
#include "lib/toolbox/envelope.h"

namespace rocksieve {
namespace {

// The Bloom filter that has a bit for each counter.
BloomFilterOptions BitsOf(const CountingBloomFilterOptions& options) {
  BloomFilterOptions bits;
  bits.bits = options.counters;
  bits.hashes = options.hashes;
  bits.hashing = options.hashing;
  bits.seed = options.seed;
  return bits;
}

bool IsCounterWidth(int counter_bits) { return counter_bits == 4 || counter_bits == 8; }

CountingBloomFilterOptions Checked(const CountingBloomFilterOptions& options) {
  bloom::Checked(BitsOf(options), "CountingBloomFilterOptions", "counters");
  if (!IsCounterWidth(options.counter_bits)) {
    throw std::invalid_argument("CountingBloomFilterOptions: counter_bits is " +
                                std::to_string(options.counter_bits) +
                                "; give 4, or 8 for keys that are added many times");
  }
  return options;
}

}  // namespace

CountingBloomFilterOptions CountingBloomFilterOptions::ForKeys(uint64_t keys,
                                                               double false_positive_rate,
                                                               int counter_bits) {
  const BloomFilterOptions bits = BloomFilterOptions::ForKeys(keys, false_positive_rate);
  CountingBloomFilterOptions options;
  options.counters = bits.bits;
  options.hashes = bits.hashes;
  options.counter_bits = counter_bits;
  return options;
}

CountingBloomFilter::CountingBloomFilter(const CountingBloomFilterOptions& options)
    : options_(Checked(options)), counters_(MakeSlots(options_.counters, options_.counter_bits)) {}

uint64_t CountingBloomFilter::KeyHash(std::string_view key) const {
  return HashKey(key, options_.seed);
}

uint64_t CountingBloomFilter::Get(uint64_t counter) const {
  return GetSlot(counters_, counter, options_.counter_bits);
}

void CountingBloomFilter::Set(uint64_t counter, uint64_t count) {
  SetSlot(&counters_, counter, options_.counter_bits, count);
}

void CountingBloomFilter::AddHash(uint64_t hash) {
  for (uint64_t counter : bloom::DistinctProbes(BitsOf(options_), hash)) {
    const uint64_t count = Get(counter);
    if (count < MostCount()) Set(counter, count + 1);
  }
}

bool CountingBloomFilter::RemoveHash(uint64_t hash) {
  if (!MayContainHash(hash)) {
    refused_removals_++;
    return false;
  }
  for (uint64_t counter : bloom::DistinctProbes(BitsOf(options_), hash)) {
    const uint64_t count = Get(counter);
    if (count < MostCount()) Set(counter, count - 1);
  }
  return true;
}

uint64_t CountingBloomFilter::CountHash(uint64_t hash) const {
  uint64_t least = MostCount();
  bloom::VisitProbes(BitsOf(options_), hash, [this, &least](uint64_t counter) {
    least = std::min(least, Get(counter));
    return least != 0;
  });
  return least;
}

bool CountingBloomFilter::Merge(const CountingBloomFilter& other) {
  if (other.options_ != options_) return false;
  for (uint64_t i = 0; i < options_.counters; i++) {
    Set(i, std::min(MostCount(), Get(i) + other.Get(i)));
  }
  return true;
}

BloomFilter CountingBloomFilter::ToBloomFilter() const {
  BloomFilter filter(BitsOf(options_));
  for (uint64_t i = 0; i < options_.counters; i++) {
    if (Get(i) != 0) filter.words_[i / 64] |= uint64_t{1} << i % 64;
  }
  return filter;
}

double CountingBloomFilter::FillRatio() const {
  uint64_t in_use = 0;
  for (uint64_t i = 0; i < options_.counters; i++) in_use += Get(i) != 0;
  return static_cast<double>(in_use) / static_cast<double>(options_.counters);
}

double CountingBloomFilter::ExpectedFalsePositiveRate() const {
  return std::pow(FillRatio(), options_.hashes);
}

uint64_t CountingBloomFilter::SaturatedCounters() const {
  uint64_t saturated = 0;
  for (uint64_t i = 0; i < options_.counters; i++) saturated += Get(i) == MostCount();
  return saturated;
}

std::string CountingBloomFilter::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  bloom::WriteOptions(BitsOf(options_), &out);
  out.U8(static_cast<uint8_t>(options_.counter_bits));
  WriteSlots(counters_, &out);
  return WriteEnvelope(EnvelopeType::kCountingBloom, payload);
}

std::optional<CountingBloomFilter> CountingBloomFilter::Deserialize(std::string_view bytes,
                                                                    std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kCountingBloom, error);
  const BloomFilterOptions bits = bloom::ReadOptions(&in, BloomLayout::kOneArray);
  CountingBloomFilterOptions options;
  options.counters = bits.bits;
  options.hashes = bits.hashes;
  options.hashing = bits.hashing;
  options.seed = bits.seed;
  options.counter_bits = in.U8();
  if (!in.ok() || !IsCounterWidth(options.counter_bits)) return in.Refuse("impossible sizes");
  CountingBloomFilter filter;
  filter.options_ = options;
  const std::string wrong =
      ReadSlots(&in, options.counters, options.counter_bits, &filter.counters_);
  if (!wrong.empty()) return in.Refuse(wrong);
  return filter;
}

}  // namespace rocksieve
