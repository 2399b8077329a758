// SPDX-License-Identifier: Apache-2.0
// What each step of a join costs: bits on the wire, and time on both sides.
//
// The planner minimises
//
//   bits  +  round trips * bits_per_round_trip  +  nanoseconds * bits_per_cpu_ns
//
// over all that follows until a range is reconciled. All weights are in bits, so that a link's
// bandwidth turns a delay or a computation into what could have been sent meanwhile. The two sides
// may have different weights: each weighs only its own steps, and answers whatever comes.
#pragma once

#include <optional>

#include <rocksieve/filter_spec.h>

#include "lib/cpu/isa.h"
#include "lib/join/rows/row_batch.h"

namespace rocksieve::join {

// What the planner weighs against each other: bits on the wire, delays, and the time that computing
// takes, which depends on the kernels.

// Nanoseconds of one thread for parts of a join: `./run bench join --prices` measures them, and
// prints them as they stand in cost_model.cc.
struct PartPrices {
  double filter_build_ns;  // per key of the sender
  double filter_query_ns;  // per key of the receiver
  double list_send_ns;     // per entry: sorting, coding
  double list_receive_ns;  // per key of the receiver
  double keys_send_ns;     // per key that is shipped, beside reading it
  double keys_receive_ns;  // per key of the receiver: a hash, looking it up
  // Per key of the sender's range, however few of them are shipped: they are read again.
  double reading_ns;
  double compression_ns;  // per byte of keys, front-coded: to compress it, and to take it apart
  // Per key and natural logarithm of the symbols: a key is in one of the first two, and in ever
  // fewer of those that follow.
  double symbols_send_ns;        // per key of the sender
  double symbols_receive_ns;     // per key of the receiver
  double symbols_difference_ns;  // at the receiver
  double sketch_send_ns;         // per key of the sender: sums, cells, of both layers
  double sketch_receive_ns;      // per key of the receiver
  double sketch_difference_ns;   // at the receiver
  // Per key of either side, whatever is planned: a hash, its place in sums and in the estimate.
  double scan_ns;
};

// Of the kernels of this instruction set. Those without a row of their own have that of the plain
// C++, or of the one that they extend.
const PartPrices& PricesOf(Isa isa);

struct CostWeights {
  double bits_per_round_trip = 800;  // the frames around its messages, if delays do not matter
  // Of either side. Almost nothing: bytes are what counts, unless the caller says otherwise. For a
  // link of b bits per second it is up to b / 1e9.
  double bits_per_cpu_ns = 0.0001;
  // Not those of this machine: where bytes are what counts, plans are the same on all.
  PartPrices prices = PricesOf(Isa::kAvx512);
};

// bits_per_cpu_ns for a link of so many bytes per second, each way, where each side has so many
// threads that compute for ranges at the same time.
double PriceOfLink(double bytes_per_second, int threads);

// Where computing counts: by the kernels that this process has.
CostWeights WeightsForPrice(double bits_per_cpu_ns, Isa isa = ActiveIsa());

// What is known of a range: candidates of the side whose turn it is, of the other, and of both.
struct RangeEstimate {
  double mine = 0;
  double theirs = 0;
  double common = 0;
  double common_error = 0;  // its standard error

  double mine_only() const;
  double theirs_only() const;
  double differences() const { return mine_only() + theirs_only(); }
};

// Of a step and what answers it. Links carry both ways at once, and both sides compute at once.
struct Cost {
  double sent_bits = 0;      // by the side whose turn it is
  double answered_bits = 0;  // by the other one
  double own_ns = 0;         // of the side whose turn it is
  double other_ns = 0;

  double bits() const { return sent_bits + answered_bits; }
  double cpu_ns() const { return own_ns + other_ns; }
  // As the other side sees it.
  Cost Turned() const { return {answered_bits, sent_bits, other_ns, own_ns}; }
  Cost& operator+=(const Cost& more);
};

// What keys take on the wire, front-coded and compressed, by samples of the sender's: fewer of them
// lie farther apart, and share less with each other.
struct KeyBits {
  static constexpr int kSparse = 16;

  double each = 128;         // if all are shipped
  double each_sparse = 132;  // if one in kSparse is
  double all_keys = 0;
  double front_coded = 136;  // without compression

  // Between the samples by the logarithm of the distance, beyond them by its entropy: a bit for
  // each doubling.
  double Each(double shipped) const;
  // What a key without compression takes.
  double EachFrontCoded(double shipped) const;
};

// What every plan has before it: keys are read and hashed.
Cost ScanCost(double mine, double theirs, const CostWeights& weights);

// The keys themselves, compressed as is cheaper.
Cost KeysCost(const RangeEstimate& estimate, const KeyBits& keys, const CostWeights& weights);
Compression BestCompression(const RangeEstimate& estimate, const KeyBits& keys,
                            const CostWeights& weights);

// A Golomb-coded list (lib/format/bit_coder.h: 1.5 bits above the logarithm of the mean gap), and its
// bitmap, at their entropy.
Cost ListCost(const RangeEstimate& estimate, const CostWeights& weights);

// A filter of `width` = log2(1 / false-positive rate).
Cost FilterCost(Family family, const RangeEstimate& estimate, double width,
                const CostWeights& weights);
// After the filter, from the receiver's side.
RangeEstimate AfterFilter(const RangeEstimate& estimate, double width);

// The width at which one filter, and what its false positives cost, are least:
// e = factor mine / (ln 2 theirs_only bits_per_false_positive). Setting the derivative of
// factor mine lg(1 / e) + theirs_only e bits_per_false_positive to zero. At least 1.
double BestSingleWidth(Family family, const RangeEstimate& estimate,
                       double bits_per_false_positive);

// Rateless symbols (lib/sketch/rateless_iblt.h), and the ids of what only the sender has.
Cost SymbolsCost(const RangeEstimate& estimate, const CostWeights& weights);

// A partitioned PinSketch with 2^cells_log2 cells per key, its empty-cell bitmap, then a second
// layer or not, and symbols for the rest (lib/sketch/pinsketch). Nothing if there are too few
// differences, or ids of cells would be too long.
std::optional<Cost> SketchCost(const RangeEstimate& estimate, int cells_log2,
                               const CostWeights& weights);

inline constexpr int kMostCellsLog2 = 9;

// The best second layer for `estimate`, that of the side that would send it, or 0: symbols at once
// are as good.
int BestSecondLayer(const RangeEstimate& estimate, const CostWeights& weights);

// Keys in which the two sides still differ after a sketch with so many cells, from the view of the
// sender of the sketch: those that share a cell with a difference.
double LeftBySketch(const RangeEstimate& estimate, double cells);
// What a first layer leaves, as the sender of a second one, the first one's receiver, sees it.
RangeEstimate SecondEstimate(const RangeEstimate& first, double left);

// The differences for which a sketch is made: a little more than expected, since parity that was
// missing costs another round trip.
double SketchedDifferences(double expected, double standard_error);

// A list has so many bits per entry beyond what tells n entries apart, so that one list in a
// hundred has a false match, which the set checksum finds.
int ListBitsFor(double receivers_candidates);

// Bits of an id in symbols: one time in a thousand one of the differences is taken for another key.
int IdBitsFor(double keys_of_both, double differences);

// Symbols after which a difference of about so many keys is decoded in most cases.
double SymbolsFor(double differences);

// The same for what a sketch left, about, with a margin: too few cost a round trip, and a few more
// of so few nothing.
double SymbolsForRest(double left);

// What a partitioned PinSketch takes on the wire (lib/sketch/pinsketch/positions.h), as often as a
// planner asks.

// Bits of the sketch that pinsketch::MakePlan() lays out for these numbers, without trying layouts:
// within 1 % for many differences, 5 % for some hundreds, where groups are few. 50 ns; the first
// call in a process takes a millisecond. Nothing if ids would be too long. REQUIRES: keys > 0,
// differences > 0.
std::optional<double> SketchBits(double keys, double differences, int cells_log2);

}  // namespace rocksieve::join
