// The two buckets of a fingerprint.
//
// Whoever finds a fingerprint in a bucket must be able to tell the other bucket without the key. So
// the sum of both, modulo the number of buckets, is a hash of the fingerprint alone:
//   alternate(b) = (g - b) mod buckets,  alternate(alternate(b)) = (g - (g - b)) mod buckets = b.
// That holds for any number of buckets, where the XOR of Fan et al. (2014) needs a power of two.
// The two are the same bucket where 2 b = g mod buckets, for one key in `buckets`.
#pragma once

#include <cstdint>

#include "lib/format/coding.h"
#include "lib/hash/mix.h"

namespace rocksieve {

// REQUIRES: bucket < buckets.
inline uint64_t AlternateCuckooBucket(uint64_t bucket, uint32_t fingerprint, uint64_t buckets) {
  const uint64_t sum = MultiplyHigh64(SplitMix64(0, fingerprint), buckets);
  return sum >= bucket ? sum - bucket : sum + buckets - bucket;
}

}  // namespace rocksieve
