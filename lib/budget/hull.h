// SPDX-License-Identifier: Apache-2.0
// What each family makes of its memory: false-positive rate as a function of bits per key; and the
// best that a set of families can do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <rocksieve/filter_spec.h>

#include "lib/range/cells.h"

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

// The best that a set of families can do with so many bits per key.
//
// The cost of b bits is what a missing key pays at a file with such a filter, in units of a block
// read: the false-positive rate plus the charge of the probe. The lower convex hull
// of the points of all families, "no filter" among them, holds all that an optimal
// allocation uses: if a bit per key is worth `price`, the best is the vertex where the hull's slope
// passes it.
//
// Between vertices, bits are a continuous function of the price all the same, in short steep
// stretches: else a budget between two vertices could not be met by files that are all alike.

// What a false-positive read and a probe of a filter cost, in one unit. A filter saves reads and
// costs probes: a missing key that meets a file pays the probe for certain and a read with the
// filter's rate. Only their proportion matters, so a charge is in reads.
struct CostModel {
  // A 4 KiB read of an NVMe drive with its way through the kernel.
  double read_ns = 80000;
  // Where it is not what the family says of itself (lib/filter/family.h).
  std::map<Family, double> probe_ns;

  double ProbeNs(Family family) const;  // 0 without a filter
  // Of one probe, in units of a read.
  double ProbeCharge(Family family) const { return ProbeNs(family) / read_ns; }
};

// A filter that can be built.
struct FilterChoice {
  Family family = Family::kNone;
  double bits_per_key = 0;  // expected of the whole block
  double rate = 1;          // expected
  // Of a family with columns, if not 0: so many columns exactly, which is quicker to ask than a
  // little less.
  int whole_columns = 0;
  double setting = 0;  // else the bits per key to ask for
};

// Immutable, so any number of threads may use it.
class Hull {
 public:
  // For filters of about `keys` keys. Family::kNone is always allowed.
  Hull(const std::vector<Family>& families, uint64_t keys, const CostModel& cost_model,
       bool thorough = false);

  // What a filter takes even without any bits for its keys. Memory is counted with it, but no file
  // is left without a filter on its account: a file of ten keys has a filter like any other.
  double fixed_bits() const { return fixed_bits_; }

  // Of the smallest filter; fixed_bits() if no family is allowed.
  double fewest_bits() const;

  // The bits per key to spend if one costs so many reads, as a natural logarithm; falls as the
  // price rises.
  double BitsAtLog(double log_price) const;

  // Reads per missing key at a file with so many bits per key: on the hull, interpolated.
  double CostAt(double bits_per_key) const;

  // The cheapest of the allowed families with so many bits per key.
  FilterChoice Choose(double bits_per_key) const;

  struct Vertex {
    Family family;
    double bits, cost;
  };
  const std::vector<Vertex>& vertices() const { return vertices_; }

 private:
  struct Curve {
    Family family;
    double charge;
    std::vector<RatePoint> points;
  };

  // A stretch in which bits fall from more to fewer while the logarithm of the price rises.
  struct Stretch {
    double begin_log_price, end_log_price;
    double more_bits, fewer_bits;
  };

  double fixed_bits_ = 0;  // per key
  std::vector<Curve> curves_;
  std::vector<Vertex> vertices_;    // with rising bits and falling cost
  std::vector<Stretch> stretches_;  // with rising prices
  // All prices in equal steps of their logarithms, and the stretch in which each step begins.
  static constexpr size_t kSteps = 256;
  double steps_per_log_ = 0;
  std::array<uint16_t, kSteps> first_of_step_ = {};
};

// Whether a filter for lookups or one for ranges is the better use of so many bits.

// Whether the reads that missing keys and empty ranges cost together, asked in the proportion of
// `mix`, are fewer with a filter of `range_hull` than with one of `lookup_hull`, both of so many
// bits per key. To the latter, every range may hold something. As long as nothing was asked, as
// many ranges as lookups are assumed, and never fewer than mix.least_share.
// Cost: some 100 ns.
bool RangesPay(const Hull& lookup_hull, const Hull& range_hull, const range::QueryMix& mix,
               double bits_per_key);

}  // namespace rocksieve
