// SPDX-License-Identifier: Apache-2.0
// Builds the payload of a Bloom filter block, and queries it in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <rocksieve/filter.h>

#include "lib/bloom/kernel.h"
#include "lib/bloom/layout.h"
#include "lib/format/payload.h"
#include "lib/hash/hash_set.h"

namespace rocksieve::bloom {

// How large a Bloom filter becomes, and how many probes it uses, under a budget; and the
// false-positive rate of the family as a function.
//
// A missing key passes a line if all of its probes hit set bits. Given the number of keys in the
// line, lanes are nearly independent, and the fill of a lane depends only on the number of bits
// that were thrown at it; seeds make it lower than the 1 - (63/64)^m of a plain Bloom filter. That
// function has no closed form: fill_table.inc holds it, simulated by bench/bloom_fill_table.cc. The
// number of keys per line is binomial, and the rate is the mean over it, as for any blocked Bloom
// filter (Putze, Sanders, Singler 2007, section 3).

inline constexpr double kMinBitsPerKey = 1;
inline constexpr double kMaxBitsPerKey = 64;

struct Plan {
  uint64_t lines = 0;
  int probes = 8;
  Effort effort = Effort::kUsual;
};

// For bits per key: the size nearest to the budget, rounded up if it is only a few lines.
// For a rate: that of a large filter with this rate, rounded up; small ones, whose lines are filled
// more evenly, come out a little better. Cost: some 30 ms for the first rate of a process.
Plan PlanFor(uint64_t keys, const Budget& budget);

inline uint64_t PayloadBytes(const Plan& plan) { return plan.lines * kLineBytes; }

// The probes with the lowest rate at so many bits per key; where two are within a few
// percent, the fewer.
int ProbesFor(double bits_per_key);

// Expected share of a seeded lane's 64 bits that are set after `bits` throws.
double LaneFill(int bits, Effort effort);

// Probability that a missing key passes a line that holds `keys_in_line` keys.
double LinePassRate(int probes, Effort effort, int keys_in_line);

// Expected rate of a filter of plan.lines lines that holds `keys` keys; 0 for no keys.
// Cost: about a millisecond.
double FalsePositiveRate(const Plan& plan, uint64_t keys);

// The limit of the above for ever more lines, at `keys_per_line` keys per line on average.
double FalsePositiveRateOfManyLines(int probes, Effort effort, double keys_per_line);

// Depends on the set of hashes and the plan only. Memory: 8 bytes per key, and up to 256 KiB.
Payload Build(HashList hashes, const Plan& plan, size_t head_room, size_t tail_room,
              const Kernel& kernel = ActiveKernel());

// Null if the payload cannot have come from a builder. Reads only the block.
std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel = ActiveKernel());

}  // namespace rocksieve::bloom
