// SPDX-License-Identifier: Apache-2.0
// A Bloom filter that takes its keys one by one: is this key perhaps in the set, surely not?
//
//   BloomFilter filter(BloomFilterOptions::ForKeys(1000000, 0.01));   // 1.2 MB
//   filter.Add("apple");
//   if (!filter.MayContain("pear")) ...   // "pear" was never added
//
// DESCRIPTION. A key that was added is always answered with true; one that was not, with true at
// ExpectedFalsePositiveRate(), which rises with every key: to the rate that was asked for at the
// number of keys that was asked for, to 1 in the end. Adding never fails. Filters with equal
// options merge into the filter of the union of their sets. 9.6 bits per key at 1 %, 4.8 more for
// each tenth of that. If all keys are known beforehand, rocksieve/filter.h is smaller and faster.
//
// IMPLEMENTATION. An array of m bits; each key sets k of them, which its hash chooses
// (BloomHashing). B. H. Bloom, "Space/time trade-offs in hash coding with allowable
// errors", 1970.
//
// Thread safety: const members from any number of threads at once, also while others are in
// AddConcurrently(), or one is in Add() and none in AddConcurrently(). A query that begins after an
// addition is over (and is ordered after it, as by a mutex or a release store) sees it. All else
// wants the filter alone, and so do copies and ==.
//
// Cost of Add() and MayContain(): hashing, and up to `hashes` cache lines; a missing key is
// recognised after two probes on average. What counts bits (fill, rate, estimates) reads the whole
// array, at some 3 GB/s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/estimate/estimate.h>

namespace rocksieve {

// How the k positions of a key come from its 64-bit hash h; a and b are two uniform numbers below
// m, made from h, m is the number of bits (partitioned: of one of the arrays), i = 0 .. k - 1.
//
// kIndependent     a number of its own for each probe: SplitMix64(h, i), mapped to m. Keeps the
//                  formulas' rate at every size and in both layouts.
// kDouble          a + i b mod m. Kirsch and Mitzenmacher, "Less hashing, same performance:
//                  building a better Bloom filter", 2006: as good as independent hashes in the
//                  limit. At a finite m some missing keys walk exactly, or nearly, as a key does:
//                  1.9 times the rate of 0.1 % at 100 keys, 1.1 times at 1,000.
// kEnhancedDouble  a + i b + (i^3 - i) / 6 mod m: steps that change on the way, so that two walks
//                  cannot run in parallel with a shift. Dillinger and Manolios, "Bloom filters in
//                  probabilistic verification", 2004. 1.07 times the rate at 100 keys. In
//                  partitioned arrays the change shifts every key's i-th position alike, so it is
//                  no better than kDouble: 6 times the rate at 100 keys, 1.5 times at 1,000.
//
// The last two are for those who compare: they save hashes of the key, but here all three begin
// with one, and the mix of SplitMix64 is no dearer than the addition and reduction that it
// replaces. Rates: docs/toolbox.md. Stored: the values never change.
enum class BloomHashing : uint8_t { kDouble = 0, kEnhancedDouble = 1, kIndependent = 2 };

// kOneArray     every probe may hit any bit.
// kPartitioned  k arrays of m / k bits, one for each probe (J. K. Mullin, "A second look at Bloom
//               filters", 1983): a key always sets k different bits, and hardware can ask all
//               arrays at once. Fill and rate are those of one array but for terms of k / m.
enum class BloomLayout : uint8_t { kOneArray = 0, kPartitioned = 1 };

struct BloomFilterOptions {
  static constexpr uint64_t kMostBits = uint64_t{1} << 48;
  static constexpr int kMostHashes = 64;

  // 1 to kMostBits. Partitioned: rounded up to a multiple of `hashes`.
  uint64_t bits = 0;
  // Probes per key, 1 to kMostHashes.
  int hashes = 0;
  BloomHashing hashing = BloomHashing::kIndependent;
  BloomLayout layout = BloomLayout::kOneArray;
  // Seed of the key hash. Filters of equal keys but different seeds have nothing in common; a
  // secret random seed keeps people from choosing keys that collide.
  uint64_t seed = 0;

  // The smallest filter that holds `keys` distinct keys at that rate of false positives, with the
  // number of probes that is best for it. Throws std::invalid_argument unless keys >= 1,
  // 0 < false_positive_rate < 1, and the result is within the limits above.
  static BloomFilterOptions ForKeys(uint64_t keys, double false_positive_rate);

  friend bool operator==(const BloomFilterOptions& a, const BloomFilterOptions& b) {
    return a.bits == b.bits && a.hashes == b.hashes && a.hashing == b.hashing &&
           a.layout == b.layout && a.seed == b.seed;
  }
  friend bool operator!=(const BloomFilterOptions& a, const BloomFilterOptions& b) {
    return !(a == b);
  }
};

// Bits, probes, keys and rate of a Bloom filter: any one from the others. Pure functions.
//
// Source: B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970; the
// forms used here are those of A. Broder and M. Mitzenmacher, "Network applications of Bloom
// filters: a survey", 2004, section 2. With m bits, n keys and k probes a bit is 0 with probability
// (1 - 1/m)^(k n), about e^(-k n / m), and a missing key passes with (1 - e^(-k n / m))^k. That
// takes the fill for its mean, and is too low by a factor of about 1 + O(k / m) (P. Bose et al.,
// "On the false-positive rate of Bloom filters", 2008): nothing to care about above some 1,000
// bits.

// (1 - e^(-hashes keys / bits))^hashes. 0 for no keys. REQUIRES: bits >= 1, hashes >= 1.
double BloomFalsePositiveRate(uint64_t bits, int hashes, uint64_t keys);

// The k with the lowest rate: bits / keys * ln 2, the better one of the two integers around it; 1
// to BloomFilterOptions::kMostHashes. At this k half of the bits are set. REQUIRES: bits >= 1, keys
// >= 1.
int OptimalBloomHashes(uint64_t bits, uint64_t keys);

// The fewest bits for that rate with that many probes: -hashes keys / ln(1 - rate^(1 / hashes)).
// REQUIRES: hashes >= 1, 0 < false_positive_rate < 1.
double BloomBitsForRate(int hashes, uint64_t keys, double false_positive_rate);

// The most keys that keep the rate: -bits / hashes * ln(1 - rate^(1 / hashes)), rounded down.
// REQUIRES: as above.
uint64_t MostBloomKeys(uint64_t bits, int hashes, double false_positive_rate);

// For BloomFilter::RemoveLosingOthers(). kOneBit does the least harm. kAllBits also lowers fill and
// rate.
enum class ZeroedBits { kOneBit, kAllBits };

class BloomFilter {
 public:
  // Throws std::invalid_argument if a field is outside of its range; std::bad_alloc.
  explicit BloomFilter(const BloomFilterOptions& options);

  void Add(std::string_view key) { AddHash(KeyHash(key)); }
  bool MayContain(std::string_view key) const { return MayContainHash(KeyHash(key)); }

  // Add(), safe in any number of threads at once. A bit that is set already costs as much as in
  // Add(), another one an atomic OR.
  void AddConcurrently(std::string_view key) { AddHashConcurrently(KeyHash(key)); }

  // The same for keys that are already hashed: KeyHash(key), or any other 64 uniform bits (then
  // always those).
  uint64_t KeyHash(std::string_view key) const;
  void AddHash(uint64_t hash);
  void AddHashConcurrently(uint64_t hash);
  bool MayContainHash(uint64_t hash) const;

  // Makes this the filter of the union of both sets: bit for bit what adding all keys to one filter
  // would have made. False, and nothing is changed, if the options differ.
  bool Merge(const BloomFilter& other);

  // Keeps the bits that are set in both. THIS IS NOT THE FILTER OF THE INTERSECTION. It answers
  // true for every key that is in both sets, but it also keeps the bits that different keys of the
  // two sets have set by chance: of two disjoint sets, about fill_a * fill_b of all bits, where the
  // filter of their intersection would be empty. Its rate lies between that of the true filter and
  // the lower one of the two. FillRatio() and ExpectedFalsePositiveRate() tell the truth about it;
  // EstimateKeys() does not, it takes the chance bits for keys. For the size of the intersection
  // ask EstimateIntersection(), with the two filters as they were; for the intersection itself, ask
  // each set's filter about the keys of the other and compare what passes.
  // False, and nothing is changed, if the options differ.
  bool AndBits(const BloomFilter& other);

  // Deletion by zeroing: makes the filter answer false for this key. IT LOSES OTHER KEYS: of those
  // that were never removed some are answered with false from then on. With each bit go all that
  // had set it too, L = k n / m = -ln(1 - fill) on average, which is 0.69 in a filter as full as it
  // was made for; so 0.69 other keys with kOneBit, and almost 0.69 k with kAllBits. A key that
  // passes without having been added is "removed" as well, and takes L / (1 - e^-L) others a bit
  // with it, 1.39. What is left is good for caches and hints, and never for an answer that must not
  // be wrong. Without loss: CountingBloomFilter, CuckooFilter. False, and nothing is changed, if
  // the key was certainly not there.
  bool RemoveLosingOthers(std::string_view key, ZeroedBits which) {
    return RemoveHashLosingOthers(KeyHash(key), which);
  }
  bool RemoveHashLosingOthers(uint64_t hash, ZeroedBits which);

  // The share of bits that are set, 0 to 1: 1/2 when as many keys were added as the filter was made
  // for. At 1 it is saturated, and answers true to everything.
  double FillRatio() const;

  // The rate at which keys that were not added are answered with true, from the bits as they are:
  // fill^hashes (partitioned: the product of the arrays' fills). Holds for kIndependent; the other
  // hashings are above it in small filters (BloomHashing).
  double ExpectedFalsePositiveRate() const;

  // How many distinct keys were added: ln(1 - fill) / (k ln(1 - 1/m)). Swamidass and Baldi,
  // "Mathematical correction for fingerprint similarity measures to improve chemical retrieval",
  // 2007. Standard error sqrt(m (e^L - 1 - L)) / k with L = k n / m, that of linear counting (Whang
  // et al., "A linear-time probabilistic counting algorithm for database applications", 1990):
  // 0.08 % for 100,000 keys at 10 bits each. Both are infinite if the filter is saturated.
  Estimate EstimateKeys() const;

  // How many distinct keys two filters hold together. std::nullopt if their options differ.
  static std::optional<Estimate> EstimateUnion(const BloomFilter& a, const BloomFilter& b);

  // How many keys they have in common: |a| + |b| - |a or b|, each estimated as above. With z the
  // shares of zeros this is ln(z_a z_b / z_or) / (k ln(1 - 1/m)), which is also what O. Papapetrou
  // et al., "Cardinality estimation and dynamic length adaptation for Bloom filters", 2010, obtain
  // from the AND of the filters. Standard error, with
  // V(L) = e^L - 1 - L and L = k n / m of each set:
  //   sqrt(m (V(L_or) - V(L_a) - V(L_b) + 2 V(L_and))) / k
  // May be negative, by chance, if they have little in common. std::nullopt if the options differ;
  // no finite number if the filters' union is saturated.
  static std::optional<Estimate> EstimateIntersection(const BloomFilter& a, const BloomFilter& b);

  // As they are after rounding.
  const BloomFilterOptions& options() const { return options_; }
  size_t MemoryBytes() const { return sizeof(*this) + words_.capacity() * sizeof(uint64_t); }

  // Bytes: docs/formats/toolbox.md, "Bloom filter".
  std::string Serialize() const;
  // std::nullopt, and what is wrong in *error (may be null), if these are not the bytes of a Bloom
  // filter. Allocates no more than the bytes have.
  static std::optional<BloomFilter> Deserialize(std::string_view bytes, std::string* error);

  friend bool operator==(const BloomFilter& a, const BloomFilter& b) {
    return a.options_ == b.options_ && a.words_ == b.words_;
  }

 private:
  friend class CountingBloomFilter;  // which makes one from its counters
  friend class ScalableBloomFilter;  // which counts its layers' bits

  uint64_t AddHashCountingNewBits(uint64_t hash);
  uint64_t CountOnes(uint64_t begin_bit, uint64_t end_bit) const;

  BloomFilterOptions options_;
  std::vector<uint64_t> words_;  // bit i of the filter is bit i % 64 of word i / 64; the rest is 0
};

}  // namespace rocksieve
