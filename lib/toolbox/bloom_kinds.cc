// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <stdexcept>
#include <utility>

#include <rocksieve/dynamic/counting_bloom_filter.h>
#include <rocksieve/dynamic/scalable_bloom_filter.h>

#include "lib/hash/key_hash.h"
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
  RefuseIf(!IsCounterWidth(options.counter_bits), "CountingBloomFilterOptions: counter_bits is ",
           options.counter_bits, "; give 4, or 8 for keys that are added many times");
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

namespace {

// In one layer. At any rate that a layer can have they need fewer than 2^48 bits.
constexpr double kMostLayerKeys = 0x1p38;

constexpr uint64_t kMostLayers = 64;  // beyond any memory: each is twice the one before

// Empty, or which field is wrong and what to give instead.
std::string WhatIsWrong(const ScalableBloomFilterOptions& options) {
  using Options = ScalableBloomFilterOptions;
  const std::string owner = "ScalableBloomFilterOptions: ";
  if (options.initial_keys < Options::kLeastInitialKeys ||
      options.initial_keys > Options::kMostInitialKeys) {
    return owner + "initial_keys is " + std::to_string(options.initial_keys) +
           "; give 64 to 2^36, and rather too few than too many: the filter grows";
  }
  if (!(options.false_positive_rate > 1e-9 && options.false_positive_rate < 1)) {
    return owner + "false_positive_rate is " + NumberText(options.false_positive_rate) +
           "; give a fraction between 1e-9 and 1, such as 0.01 for 1 %";
  }
  if (options.growth < 2 || options.growth > 16) {
    return owner + "growth is " + std::to_string(options.growth) + "; give 2 to 16, 2 if in doubt";
  }
  if (!(options.tightening >= 0.1 && options.tightening <= 0.95)) {
    return owner + "tightening is " + NumberText(options.tightening) +
           "; give 0.1 to 0.95, 0.8 if in doubt";
  }
  return "";
}

ScalableBloomFilterOptions Checked(const ScalableBloomFilterOptions& options) {
  const std::string wrong = WhatIsWrong(options);
  if (!wrong.empty()) throw std::invalid_argument(wrong);
  return options;
}

}  // namespace

ScalableBloomFilter::ScalableBloomFilter(const ScalableBloomFilterOptions& options)
    : options_(Checked(options)) {
  AddLayer(BloomFilter(LayerOptions(0)));
}

double ScalableBloomFilter::LayerRate(size_t index) const {
  return options_.false_positive_rate * (1 - options_.tightening) *
         std::pow(options_.tightening, static_cast<double>(index));
}

BloomFilterOptions ScalableBloomFilter::LayerOptions(size_t index) const {
  const double keys = static_cast<double>(options_.initial_keys) *
                      std::pow(options_.growth, static_cast<double>(index));
  if (keys > kMostLayerKeys) throw std::bad_alloc();
  // By chance so many keys set more bits than they should; sqrt(keys) is more than four standard
  // deviations at 7 probes, and else half of all layers would be full too early.
  const uint64_t with_reserve = static_cast<uint64_t>(keys + std::sqrt(keys));
  BloomFilterOptions layer = BloomFilterOptions::ForKeys(with_reserve, LayerRate(index));
  layer.seed = options_.seed;
  return layer;
}

void ScalableBloomFilter::AddLayer(BloomFilter filter) {
  const BloomFilterOptions& layer = filter.options();
  const double most_fill = std::pow(LayerRate(layers_.size()), 1.0 / layer.hashes);
  const uint64_t ones = filter.CountOnes(0, layer.bits);
  const uint64_t most_ones = static_cast<uint64_t>(most_fill * static_cast<double>(layer.bits));
  layers_.push_back({std::move(filter), ones, most_ones});
}

uint64_t ScalableBloomFilter::KeyHash(std::string_view key) const {
  return HashKey(key, options_.seed);
}

void ScalableBloomFilter::AddHash(uint64_t hash) {
  if (MayContainHash(hash)) return;
  const Layer& newest = layers_.back();
  if (newest.ones + static_cast<uint64_t>(newest.filter.options().hashes) > newest.most_ones) {
    AddLayer(BloomFilter(LayerOptions(layers_.size())));
  }
  layers_.back().ones += layers_.back().filter.AddHashCountingNewBits(hash);
}

bool ScalableBloomFilter::MayContainHash(uint64_t hash) const {
  // The newest has the most keys.
  return std::any_of(layers_.rbegin(), layers_.rend(),
                     [hash](const Layer& layer) { return layer.filter.MayContainHash(hash); });
}

Estimate ScalableBloomFilter::EstimateKeys() const {
  double keys = 0, variance = 0, let_through = 1;
  for (const Layer& layer : layers_) {
    const Estimate in_layer = layer.filter.EstimateKeys();
    keys += in_layer.value / let_through;
    variance += std::pow(in_layer.standard_error / let_through, 2);
    let_through *= 1 - layer.filter.ExpectedFalsePositiveRate();
  }
  return {keys, std::sqrt(variance)};
}

double ScalableBloomFilter::ExpectedFalsePositiveRate() const {
  double log_of_refusal = 0;
  for (const Layer& layer : layers_) {
    log_of_refusal += std::log1p(-layer.filter.ExpectedFalsePositiveRate());
  }
  return -std::expm1(log_of_refusal);
}

size_t ScalableBloomFilter::MemoryBytes() const {
  size_t bytes = sizeof(*this) + layers_.capacity() * sizeof(Layer);
  for (const Layer& layer : layers_) bytes += layer.filter.MemoryBytes() - sizeof(BloomFilter);
  return bytes;
}

// Sizes are stored, as the logarithms of another machine may round to one bit more or less.
bool ScalableBloomFilter::IsLayer(size_t index, const BloomFilterOptions& stored) const {
  const double keys = static_cast<double>(options_.initial_keys) *
                      std::pow(options_.growth, static_cast<double>(index));
  if (keys > kMostLayerKeys) return false;
  const BloomFilterOptions layer = LayerOptions(index);
  return stored.hashes == layer.hashes && stored.bits + 1 >= layer.bits &&
         stored.bits <= layer.bits + 1;
}

std::string ScalableBloomFilter::Serialize() const {
  std::string payload;
  ByteWriter out(&payload);
  out.U64(options_.initial_keys);
  out.U64(std::bit_cast<uint64_t>(options_.false_positive_rate));
  out.U8(static_cast<uint8_t>(options_.growth));
  out.U64(std::bit_cast<uint64_t>(options_.tightening));
  out.U64(options_.seed);
  out.Varint(layers_.size());
  for (const Layer& layer : layers_) {
    const BloomFilterOptions& options = layer.filter.options();
    out.U64(options.bits);
    out.U8(static_cast<uint8_t>(options.hashes));
    WriteBits(layer.filter.words_, options.bits, &out);
  }
  return WriteEnvelope(EnvelopeType::kScalableBloom, payload);
}

std::optional<ScalableBloomFilter> ScalableBloomFilter::Deserialize(std::string_view bytes,
                                                                    std::string* error) {
  PayloadReader in(bytes, EnvelopeType::kScalableBloom, error);
  ScalableBloomFilter filter;
  filter.options_.initial_keys = in.U64();
  filter.options_.false_positive_rate = std::bit_cast<double>(in.U64());
  filter.options_.growth = in.U8();
  filter.options_.tightening = std::bit_cast<double>(in.U64());
  filter.options_.seed = in.U64();
  const uint64_t layers = in.Varint(kMostLayers);
  if (layers == 0 || !WhatIsWrong(filter.options_).empty()) in.Fail();
  for (uint64_t i = 0; i < layers && in.ok(); i++) {
    BloomFilterOptions options;
    options.bits = in.U64();
    options.hashes = in.U8();
    options.seed = filter.options_.seed;
    if (in.remaining() < BytesForBits(options.bits) || !filter.IsLayer(i, options)) {
      in.Fail();
      break;
    }
    BloomFilter layer(options);
    ByteReader bits(in.Bytes(BytesForBits(options.bits)));
    ReadBits(&bits, options.bits, &layer.words_);
    if (!bits.Finished()) in.Fail();
    filter.AddLayer(std::move(layer));
  }
  if (!in.Finished()) return in.Refuse("impossible sizes");
  return filter;
}

}  // namespace rocksieve
