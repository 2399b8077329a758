// How large a Bloom filter is, and how keys find their bits in it.
#pragma once

#include <cstdint>

namespace rocksieve {

// How the k positions of a key come from its 64-bit hash h. In one array of m bits, with
// a = SplitMix64(h, 0) and b = SplitMix64(h, 1) as uniform numbers below m:
//
// kDouble          a + i b mod m. Kirsch and Mitzenmacher, "Less hashing, same performance:
//                  building a better Bloom filter", 2006: as good as independent hashes in the
//                  limit. At a finite m some keys have few different positions (all k are the same
//                  if b = 0), which costs rate: about as much as n^2 / m^2 and more in small
//                  filters with low rates.
// kEnhancedDouble  a + i b + (i^3 - i) / 6 mod m: one addition more, and steps that change on the
//                  way, so that no two keys walk in parallel and no walk stands still. Dillinger
//                  and Manolios, "Bloom filters in probabilistic verification", 2004.
// kIndependent     SplitMix64(h, i), mapped to m: a fresh mix for each probe, about 2 ns each.
//
// docs/toolbox.md has the rates of all three. Stored: the values never change.
enum class BloomHashing : uint8_t { kDouble = 0, kEnhancedDouble = 1, kIndependent = 2 };

// kOneArray     every probe may hit any bit.
// kPartitioned  k arrays of m / k bits, one for each probe (Mullin 1983; Kirsch and Mitzenmacher
//               2006, section 4). A key always sets k different bits; the fill is higher for it, so
//               the rate is slightly worse, the more the smaller the filter.
enum class BloomLayout : uint8_t { kOneArray = 0, kPartitioned = 1 };

struct BloomFilterOptions {
  static constexpr uint64_t kMostBits = uint64_t{1} << 48;
  static constexpr int kMostHashes = 64;

  // 1 to kMostBits. Partitioned: rounded up to a multiple of `hashes`.
  uint64_t bits = 0;
  // Probes per key, 1 to kMostHashes.
  int hashes = 0;
  BloomHashing hashing = BloomHashing::kEnhancedDouble;
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

}  // namespace rocksieve
