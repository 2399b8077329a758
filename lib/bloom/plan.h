// How large a Bloom filter becomes, and how many probes it uses, under a budget.
#pragma once

#include <cstdint>

#include "lib/bloom/layout.h"
#include "lib/format/payload.h"

namespace rocksieve::bloom {

inline constexpr double kMinBitsPerKey = 1;
inline constexpr double kMaxBitsPerKey = 64;

struct Plan {
  uint64_t lines = 0;
  int probes = 8;
  bool thorough = false;  // all pairs of seeds are tried
};

// For bits per key: the size nearest to the budget, rounded up if it is only a few lines.
// For a rate: that of a large filter with this rate, rounded up; small ones, whose lines are filled
// more evenly, come out a little better. Cost: some 30 ms for the first rate of a process.
Plan PlanFor(uint64_t keys, const Budget& budget);

inline uint64_t PayloadBytes(const Plan& plan) { return plan.lines * kLineBytes; }

// The probes with the lowest rate at so many bits per key (model.h); where two are within a few
// percent, the fewer.
int ProbesFor(double bits_per_key);

}  // namespace rocksieve::bloom
