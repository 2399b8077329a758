// What each kind of filter makes of its memory: false-positive rate as a function of bits per key.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/budget/filter_kind.h"

namespace rocksieve {

struct RatePoint {
  double bits_per_key = 0;  // of the whole block, its frame included
  double rate = 1;
  double setting = 0;  // the bits per key to ask for: in a spec of ours, or of RocksDB's policy
};

inline constexpr double kMostCurveBits = 40;

// What any filter of this kind takes, even if it had no bits for keys: its frame.
double FixedBits(FilterKind kind);

// Points with rising bits, of filters of `keys` keys that have between about 1 and kMostCurveBits
// bits per key beside their frame; between neighbours one may interpolate. Ribbon's are those of
// whole columns, between which its rate is a straight line. For kNone, the one point of 0 bits and
// rate 1. Cost: some 10 ms for the first call with kBloom and with kBuiltinBloom, then some 10 us.
std::vector<RatePoint> RateCurve(FilterKind kind, uint64_t keys, bool thorough = false);

}  // namespace rocksieve
