// How large a Bloom filter becomes, and how many probes it uses, under a budget.
#pragma once

#include <cstdint>

#include "bloom/layout.h"

namespace rocksieve::bloom {

inline constexpr double kMinBitsPerKey = 1;
inline constexpr double kMaxBitsPerKey = 64;

struct Plan {
  uint64_t lines = 0;
  int probes = 8;
};

// The plan whose size is nearest to the budget; at least one line, unless there are no keys.
Plan PlanFor(uint64_t keys, double payload_bits);

inline uint64_t PayloadBytes(const Plan& plan) { return plan.lines * kLineBytes; }

// The probes with the lowest rate at so many bits per key (model.h); where two are within a few
// percent, the fewer.
int ProbesFor(double bits_per_key);

// A payload of whole lines at which the expected rate is at most `rate` (0 to 1): that of a large
// filter; small ones, whose lines are filled more evenly, come out a little better.
// Cost: some 20 ms for the first call of a process.
double PayloadBitsForRate(uint64_t keys, double rate);

}  // namespace rocksieve::bloom
