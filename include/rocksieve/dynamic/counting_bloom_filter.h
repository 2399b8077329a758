// SPDX-License-Identifier: Apache-2.0
// A Bloom filter that keys can be removed from, and that tells how often a key was added.
//
//   CountingBloomFilter filter(CountingBloomFilterOptions::ForKeys(1000000, 0.01));   // 4.8 MB
//   filter.Add("apple");
//   filter.Add("apple");
//   filter.Count("apple");    // 2, or by chance more, never less
//   filter.Remove("apple");
//
// DESCRIPTION. A multiset of keys: what was added more often than removed is always answered with
// true; another key with true at ExpectedFalsePositiveRate(). That holds as long as only keys are
// removed that are there. Remove() refuses a key that certainly is not, and refused_removals()
// counts these, so that the mistake is seen; but one that is absent and passes by chance cannot be
// told, and its removal takes counts away from other keys, some of which may then be missed.
// Removing a key exactly as often as it was added is the caller's duty. 4 or 8 times the memory of
// a BloomFilter: CuckooFilter removes in less than a third of it, but does not grow without limit.
//
// IMPLEMENTATION. A counter where a BloomFilter has a bit, at the very same positions. L. Fan, P.
// Cao, J. Almeida, A. Broder, "Summary cache: a scalable wide-area web cache sharing protocol",
// 2000. A counter that has reached its maximum is never changed again, for nobody knows how much it
// should be: it may make false positives, never a false negative. With the best number of probes a
// counter gets to 15 with a probability below 2e-15 if all keys are distinct (a Poisson number of
// mean ln 2), so 4 bits are plenty for sets; take 8 for multisets.
//
// Thread safety: const members from any number of threads at once; all else wants it alone.
// Cost: that of BloomFilter; Add() and Remove() compare a key's positions with each other, so that
// one that comes twice counts once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/dynamic/bloom_filter.h>

namespace rocksieve {

struct CountingBloomFilterOptions {
  // 1 to BloomFilterOptions::kMostBits.
  uint64_t counters = 0;
  // Probes per key, 1 to BloomFilterOptions::kMostHashes.
  int hashes = 0;
  // 4 or 8: the largest count is 15 or 255, which means "so many, or more".
  int counter_bits = 4;
  BloomHashing hashing = BloomHashing::kIndependent;
  uint64_t seed = 0;

  // The fewest counters for so many distinct keys at that rate. Throws std::invalid_argument as
  // BloomFilterOptions::ForKeys() does.
  static CountingBloomFilterOptions ForKeys(uint64_t keys, double false_positive_rate,
                                            int counter_bits = 4);

  friend bool operator==(const CountingBloomFilterOptions& a, const CountingBloomFilterOptions& b) {
    return a.counters == b.counters && a.hashes == b.hashes && a.counter_bits == b.counter_bits &&
           a.hashing == b.hashing && a.seed == b.seed;
  }
  friend bool operator!=(const CountingBloomFilterOptions& a, const CountingBloomFilterOptions& b) {
    return !(a == b);
  }
};

class CountingBloomFilter {
 public:
  // Throws std::invalid_argument if a field is outside of its range; std::bad_alloc.
  explicit CountingBloomFilter(const CountingBloomFilterOptions& options);

  void Add(std::string_view key) { AddHash(KeyHash(key)); }
  bool MayContain(std::string_view key) const { return CountHash(KeyHash(key)) != 0; }

  // False, and nothing is changed but refused_removals(), if the key is certainly not there.
  bool Remove(std::string_view key) { return RemoveHash(KeyHash(key)); }

  // How often the key is there: the smallest of its counters ("minimum selection"; S. Cohen and Y.
  // Matias, "Spectral Bloom filters", 2003). Never too small, but that MostCount() means "or more";
  // too large with the probability that a missing key passes.
  uint64_t Count(std::string_view key) const { return CountHash(KeyHash(key)); }
  uint64_t MostCount() const { return (uint64_t{1} << options_.counter_bits) - 1; }

  // The same for keys that are already hashed: KeyHash(key), or any other 64 uniform bits (then
  // always those).
  uint64_t KeyHash(std::string_view key) const;
  void AddHash(uint64_t hash);
  bool MayContainHash(uint64_t hash) const { return CountHash(hash) != 0; }
  bool RemoveHash(uint64_t hash);
  uint64_t CountHash(uint64_t hash) const;

  // Adds the other's counts: of a key that is in both, both. False, and nothing is changed, if the
  // options differ.
  bool Merge(const CountingBloomFilter& other);

  // The filter of the keys that are there, with the same positions, seed, false positives: what to
  // send to somebody who only asks, or to estimate the number of distinct keys with.
  BloomFilter ToBloomFilter() const;

  // The share of counters that are not 0, and the rate that goes with it: FillRatio()^hashes. Read
  // all counters.
  double FillRatio() const;
  double ExpectedFalsePositiveRate() const;

  // Counters that are stuck at their maximum. They stay so until the filter is made anew; if they
  // are more than a few, the rate never comes down again, and 8 bits would be better than 4.
  uint64_t SaturatedCounters() const;

  // How often Remove() was called in vain since this object was made. Not part of its bytes, nor
  // added by Merge().
  uint64_t refused_removals() const { return refused_removals_; }

  const CountingBloomFilterOptions& options() const { return options_; }
  size_t MemoryBytes() const { return sizeof(*this) + counters_.capacity(); }

  // Bytes: docs/formats/toolbox.md, "Counting Bloom filter".
  std::string Serialize() const;
  // std::nullopt, and what is wrong in *error (may be null), if these are not the bytes of such a
  // filter. Allocates no more than the bytes have.
  static std::optional<CountingBloomFilter> Deserialize(std::string_view bytes, std::string* error);

 private:
  CountingBloomFilter() = default;
  uint64_t Get(uint64_t counter) const;
  void Set(uint64_t counter, uint64_t count);

  CountingBloomFilterOptions options_;
  std::vector<uint8_t> counters_;  // bit-packed
  uint64_t refused_removals_ = 0;
};

}  // namespace rocksieve
