// Pairs of sets of a known similarity.
#pragma once

#include <cstdint>

#include <rocksieve/estimate/min_hash.h>

#include "lib/hash/mix.h"

namespace rocksieve {

inline constexpr MinHashMethod kMinHashMethods[] = {MinHashMethod::kOnePermutation,
                                                    MinHashMethod::kIndependent};

inline MinHashOptions SignatureOptions(uint64_t size, MinHashMethod method, uint64_t seed = 0) {
  MinHashOptions options;
  options.size = size;
  options.method = method;
  options.seed = seed;
  return options;
}

struct SetPair {
  MinHash a, b;
  double jaccard;
};

// Of so many keys in the union, so many of which both have; the others are shared out evenly.
inline SetPair RandomPair(const MinHashOptions& options, uint64_t either, uint64_t both,
                          uint64_t seed) {
  SetPair pair{MinHash(options), MinHash(options),
               static_cast<double>(both) / static_cast<double>(either)};
  for (uint64_t i = 0; i < either; i++) {
    const uint64_t hash = SplitMix64(seed << 32, i);
    if (i < both || i % 2 == 0) pair.a.AddHash(hash);
    if (i < both || i % 2 == 1) pair.b.AddHash(hash);
  }
  return pair;
}

}  // namespace rocksieve
