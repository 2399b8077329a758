// SPDX-License-Identifier: Apache-2.0
// A Bloom filter for a number of keys that nobody knows beforehand.
//
//   ScalableBloomFilterOptions options;
//   options.initial_keys = 1000;            // a guess; a thousand times as many is fine
//   options.false_positive_rate = 0.01;     // is kept whatever comes
//   ScalableBloomFilter filter(options);
//   filter.Add("apple");
//
// DESCRIPTION. A key that was added is always answered with true. One that was not, with true at a
// rate that stays below false_positive_rate, however many keys there are. The price, beside a
// BloomFilter that was made for the right number: 1.4 to 3.3 times the memory, 4 times just beyond
// the first guess (docs/toolbox.md has the picture), and two cache misses or so for each layer in a
// query, of which there are about log2(keys / initial_keys) + 1. If the number is known to a factor
// of two, take a BloomFilter for twice as many.
//
// IMPLEMENTATION. P. Almeida, C. Baquero, N. Preguica, D. Hutchison, "Scalable Bloom filters",
// 2007: layers of Bloom filters. When the newest is as full as its rate allows, another one is
// begun, for `growth` times as many keys at `tightening` times the rate. A missing key passes if it
// passes any layer; the rates P (1 - r) r^i of all layers there could ever be sum up to P. A
// layer's rate is fill^k of its bits as they are, so the bound holds for this very filter, not on
// average. Two things differ from the paper: layers are single arrays, not partitioned ones, and a
// key that passes already is not added again, so that repetitions cost nothing.
//
// There is no Merge(): the layers of two filters are full already, and to OR them would break the
// bound that this type is for. Keep both and ask both, at the sum of their rates.
//
// Thread safety: const members from any number of threads at once; all else wants it alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/dynamic/bloom_filter.h>

namespace rocksieve {

struct ScalableBloomFilterOptions {
  static constexpr uint64_t kLeastInitialKeys = 64, kMostInitialKeys = uint64_t{1} << 36;

  // How many distinct keys the first layer is made for, kLeastInitialKeys to kMostInitialKeys.
  uint64_t initial_keys = 1024;
  // The bound, above 1e-9 and below 1.
  double false_positive_rate = 0.01;
  // How many times the keys of the layer before, 2 to 16. 2 takes the least memory; 4 makes half
  // the layers.
  int growth = 2;
  // The rate of a layer by that of the layer before ("r" in the paper), 0.1 to 0.95. 0.8 takes the
  // least memory on average up to 1,000 times initial_keys; lower is better if they hardly grow.
  double tightening = 0.8;
  // Seed of the key hash.
  uint64_t seed = 0;

  friend bool operator==(const ScalableBloomFilterOptions& a, const ScalableBloomFilterOptions& b) {
    return a.initial_keys == b.initial_keys && a.false_positive_rate == b.false_positive_rate &&
           a.growth == b.growth && a.tightening == b.tightening && a.seed == b.seed;
  }
  friend bool operator!=(const ScalableBloomFilterOptions& a, const ScalableBloomFilterOptions& b) {
    return !(a == b);
  }
};

class ScalableBloomFilter {
 public:
  // Throws std::invalid_argument if a field is outside of its range; std::bad_alloc.
  explicit ScalableBloomFilter(const ScalableBloomFilterOptions& options);

  // Throws std::bad_alloc, with nothing changed, if a new layer is due and there is no memory for
  // it.
  void Add(std::string_view key) { AddHash(KeyHash(key)); }
  bool MayContain(std::string_view key) const { return MayContainHash(KeyHash(key)); }

  // The same for keys that are already hashed: KeyHash(key), or any other 64 uniform bits (then
  // always those).
  uint64_t KeyHash(std::string_view key) const;
  void AddHash(uint64_t hash);
  bool MayContainHash(uint64_t hash) const;

  // How many distinct keys were added: BloomFilter::EstimateKeys() of each layer, by the share of
  // keys that the layers before it let through to it, since those that passed were not stored.
  Estimate EstimateKeys() const;

  // From the bits as they are, 1 - (1 - rate of a layer) * ...: below false_positive_rate, since
  // the layers that are not there yet add nothing. Reads the whole filter.
  double ExpectedFalsePositiveRate() const;

  const ScalableBloomFilterOptions& options() const { return options_; }
  size_t layer_count() const { return layers_.size(); }
  size_t MemoryBytes() const;

  // Bytes: docs/formats/toolbox.md, "Scalable Bloom filter".
  std::string Serialize() const;
  // std::nullopt, and what is wrong in *error (may be null), if these are not the bytes of such a
  // filter. Allocates no more than about what the bytes have.
  static std::optional<ScalableBloomFilter> Deserialize(std::string_view bytes, std::string* error);

 private:
  struct Layer {
    BloomFilter filter;
    uint64_t ones;       // bits that are set
    uint64_t most_ones;  // at which the layer is full
  };
  ScalableBloomFilter() = default;
  // Of a layer that has so many before it.
  double LayerRate(size_t index) const;
  BloomFilterOptions LayerOptions(size_t index) const;
  void AddLayer(BloomFilter filter);
  bool IsLayer(size_t index, const BloomFilterOptions& stored) const;

  ScalableBloomFilterOptions options_;
  std::vector<Layer> layers_;  // at least one
};

}  // namespace rocksieve
