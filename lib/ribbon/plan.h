// SPDX-License-Identifier: Apache-2.0
// How many buckets a ribbon filter gets, and how many columns its slots have, under a budget; and
// the false-positive rate of the family as a function.
//
// The slots that a missing key selects give a value that has nothing to do with its fingerprint, so
// each column agrees with probability 1/2: the rate is 2^-F exactly, whatever the number of keys
// (Dillinger, Huebschle-Schneider, Sanders, Walzer 2022, section 2). Where a share of the keys is
// asked one column more, it is the mean of the two rates.
#pragma once

#include <cstdint>

#include "lib/format/payload.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {

inline constexpr double kMinBitsPerKey = 1;
inline constexpr double kMaxBitsPerKey = 32;

// Up to so many distinct keys, one small dense system of equations is smaller than buckets.
inline constexpr uint64_t kMaxSmallKeys = 64;

// More distinct keys are not tried: the directory would not hold their offsets.
inline constexpr uint64_t kMaxKeys = uint64_t{1} << 32;

// A head can be compact up to so many keys, which take 128 buckets: one anchor.
inline constexpr uint64_t kMostCompactKeys = kBucketsPerAnchor * 256 - 1;

// Columns per slot: so many, and one more in a share of the groups.
struct Width {
  int columns = kMinColumns;
  double wide_share = 0;
};

// Of the two, one is 0. The number of slots follows from the keys, within a percent or so.
struct Plan {
  double width = 0;      // columns per slot, on average
  double slot_bits = 0;  // bits of all slots
  bool thorough = false;
  bool compact = false;  // the head, up to kMostCompactKeys
};

Plan PlanFor(uint64_t keys, const Budget& budget);

// What the plan means once it is known how many slots there are.
Width WidthFor(const Plan& plan, uint64_t slots);
// In the small form, all slots have the same number of columns.
int SmallColumnsFor(const Plan& plan, uint64_t slots);

// Buckets for so many distinct keys: 256 keys each, which fill the nominal groups. Fewer in filters
// of up to some thousand keys: the last bucket cannot pass surplus keys on, so it needs spare
// slots, the more of them the more keys it has.
uint64_t BucketsFor(uint64_t distinct_keys);

double ExpectedSlots(uint64_t keys);

// Expected payload, its directory included.
double ExpectedPayloadBits(uint64_t keys, const Plan& plan);
// Expected false-positive rate.
double ExpectedRate(uint64_t keys, const Plan& plan);

// REQUIRES: 0 <= wide_share <= 1.
double FalsePositiveRate(int columns, double wide_share);

// Columns per slot on average at which the rate is `rate`. REQUIRES: 0 < rate <= 1.
double WidthForRate(double rate);

}  // namespace rocksieve::ribbon
