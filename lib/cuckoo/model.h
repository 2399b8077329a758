// The false-positive rate of the cuckoo family as a function.
//
// A missing key is compared with the four slots of its two windows. Each holds a key with
// probability `load`, whose fingerprint equals the asked one with probability about 2^-F. Hence the
// rate of Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom"
// (2014), section 5.1, for four slots, times the load.
#pragma once

#include <cstdint>

namespace rocksieve::cuckoo {

// In the limit of large shards, keys can be placed below this load and cannot above it: k = 2
// windows of l = 2 slots (Walzer, "Load Thresholds for Cuckoo Hashing with Overlapping Blocks",
// 2018, abstract).
inline constexpr double kLoadThreshold = 0.964995;

// Probability that two keys are given the same stored fingerprint: the value 1 serves twice, since
// 0 is the empty slot.
double FingerprintMatchRate(int bits);

// wide_share of the slots have one bit more. REQUIRES: 0 <= wide_share <= 1, 0 <= load <= 1.
double FalsePositiveRate(int fingerprint_bits, double wide_share, double load);

}  // namespace rocksieve::cuckoo
