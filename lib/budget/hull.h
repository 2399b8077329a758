// SPDX-License-Identifier: Apache-2.0
// The best that a set of families can do with so many bits per key.
//
// The cost of b bits is what a missing key pays at a file with such a filter, in units of a block
// read: the false-positive rate plus the charge of the probe. The lower convex hull
// of the points of all families (rate_curve.h), "no filter" among them, holds all that an optimal
// allocation uses: if a bit per key is worth `price`, the best is the vertex where the hull's slope
// passes it.
//
// Between vertices, bits are a continuous function of the price all the same, in short steep
// stretches: else a budget between two vertices could not be met by files that are all alike.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <rocksieve/filter_spec.h>

#include "lib/budget/rate_curve.h"

namespace rocksieve {

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

  // The bits per key to spend if one costs `price` reads; falls as the price rises.
  double BitsAt(double price) const;

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
};

}  // namespace rocksieve
