// How large a cuckoo filter is.
#pragma once

#include <cstdint>

namespace rocksieve {

struct CuckooFilterOptions {
  static constexpr int kBucketSlots = 4;
  static constexpr uint64_t kMostBuckets = uint64_t{1} << 32;
  static constexpr int kLeastFingerprintBits = 2, kMostFingerprintBits = 32;
  // What ForKeys() plans for, but for small filters.
  static constexpr double kLoad = 0.95;

  // Of four slots each, 1 to kMostBuckets; any number, not powers of two only.
  uint64_t buckets = 0;
  // Bits of a slot, 2 to 32. Each bit more halves the rate. Fewer than 5 do not reach kLoad in
  // large filters: too many keys share a fingerprint and so both buckets (docs/toolbox.md has the
  // loads).
  int fingerprint_bits = 0;
  // Seed of the key hash. A secret random seed keeps people from choosing keys that collide, with
  // which they could fill a bucket so that no key of it can be added.
  uint64_t seed = 0;

  // The smallest filter that holds `keys` keys, counted with repetitions, at a rate of false
  // positives of at most that when it holds them all. They fit with a probability above 0.9999 if
  // none is repeated more than a few times. Throws std::invalid_argument unless keys >= 1,
  // 0 < false_positive_rate < 1, and the result is within the limits above.
  static CuckooFilterOptions ForKeys(uint64_t keys, double false_positive_rate);

  friend bool operator==(const CuckooFilterOptions& a, const CuckooFilterOptions& b) {
    return a.buckets == b.buckets && a.fingerprint_bits == b.fingerprint_bits && a.seed == b.seed;
  }
  friend bool operator!=(const CuckooFilterOptions& a, const CuckooFilterOptions& b) {
    return !(a == b);
  }
};

// 1 - (1 - 1 / (2^fingerprint_bits - 1))^(8 load): a missing key is compared with what stands in
// the eight slots of its two buckets. Source: Fan et al., 2014, section 5.1 (whose bound is
// 8 / 2^fingerprint_bits). REQUIRES: 0 <= load <= 1.
double CuckooFalsePositiveRate(int fingerprint_bits, double load);

}  // namespace rocksieve
