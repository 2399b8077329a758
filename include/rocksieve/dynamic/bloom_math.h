// Bits, probes, keys and rate of a Bloom filter: any one from the others. Pure functions.
//
// Source: B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970; the
// forms used here are those of A. Broder and M. Mitzenmacher, "Network applications of Bloom
// filters: a survey", 2004, section 2. With m bits, n keys and k probes a bit is 0 with probability
// (1 - 1/m)^(k n), about e^(-k n / m), and a missing key passes with (1 - e^(-k n / m))^k. That
// takes the fill for its mean, and is too low by a factor of about 1 + O(k / m) (P. Bose et al.,
// "On the false-positive rate of Bloom filters", 2008): nothing to care about above some 1,000
// bits.
#pragma once

#include <cstdint>

namespace rocksieve {

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

}  // namespace rocksieve
