// How large a Bloom filter is, and how keys find their bits in it.
#pragma once

#include <cstdint>

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

}  // namespace rocksieve
