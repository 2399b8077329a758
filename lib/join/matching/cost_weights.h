// SPDX-License-Identifier: Apache-2.0
// What the planner weighs against each other: bits on the wire, delays, and the time that computing
// takes, which depends on the kernels.
#pragma once

#include "lib/cpu/isa.h"

namespace rocksieve::join {

// Nanoseconds of one thread for parts of a join: `./run bench join --prices` measures them, and
// prints them as they stand in cost_weights.cc.
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

}  // namespace rocksieve::join
