// SPDX-License-Identifier: Apache-2.0
// What each family makes of its memory: false-positive rate as a function of bits per key.
#pragma once

#include <cstdint>
#include <vector>

#include <rocksieve/filter_spec.h>

namespace rocksieve {

struct RatePoint {
  double bits_per_key = 0;  // of the whole block, its frame included
  double rate = 1;
  double setting = 0;  // the bits per key to ask for in a spec
};

inline constexpr double kMostCurveBits = 40;

// What a filter of so many keys takes, even if it had no bits for them: its frame.
double FrameBitsOfFilter(Family family, uint64_t keys);

// Points with rising bits, of filters of `keys` keys that have between about 1 and kMostCurveBits
// bits per key beside their frame; between neighbours one may interpolate. Those of a family with
// columns are of whole columns, between which its rate is a straight line. For Family::kNone, the
// one point of 0 bits and rate 1. Cost: some 10 ms for the first call with kBloom, then some 10 us.
std::vector<RatePoint> RateCurve(Family family, uint64_t keys, bool thorough = false);

}  // namespace rocksieve
