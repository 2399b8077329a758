// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/cost_weights.h"

namespace rocksieve::join {
namespace {

// As `./run bench join --prices` prints them, with ROCKSIEVE_ISA of each, on a Zen 5; an old
// processor takes up to twice as long for all of it. Where sessions of the grid were nearer to
// something else, that stands here: keys, lists, and filters with AVX-512. reading_ns is of
// RocksDB's blocks, by bench reading.
constexpr PartPrices kPortable = {.filter_build_ns = 34,
                                  .filter_query_ns = 17,
                                  .list_send_ns = 24,
                                  .list_receive_ns = 27,
                                  .keys_send_ns = 34,
                                  .keys_receive_ns = 56,
                                  .reading_ns = 14,
                                  .compression_ns = 9.5,
                                  .symbols_send_ns = 9.9,
                                  .symbols_receive_ns = 9.7,
                                  .symbols_difference_ns = 980,
                                  .sketch_send_ns = 50,
                                  .sketch_receive_ns = 67,
                                  .sketch_difference_ns = 340,
                                  .scan_ns = 13};
constexpr PartPrices kSse2 = {.filter_build_ns = 34,
                              .filter_query_ns = 8.2,
                              .list_send_ns = 24,
                              .list_receive_ns = 27,
                              .keys_send_ns = 34,
                              .keys_receive_ns = 56,
                              .reading_ns = 14,
                              .compression_ns = 9.5,
                              .symbols_send_ns = 9.9,
                              .symbols_receive_ns = 9.7,
                              .symbols_difference_ns = 980,
                              .sketch_send_ns = 50,
                              .sketch_receive_ns = 67,
                              .sketch_difference_ns = 340,
                              .scan_ns = 13};
constexpr PartPrices kAvx2 = {.filter_build_ns = 28,
                              .filter_query_ns = 7.8,
                              .list_send_ns = 24,
                              .list_receive_ns = 27,
                              .keys_send_ns = 34,
                              .keys_receive_ns = 56,
                              .reading_ns = 14,
                              .compression_ns = 9.5,
                              .symbols_send_ns = 9.9,
                              .symbols_receive_ns = 9.7,
                              .symbols_difference_ns = 980,
                              .sketch_send_ns = 50,
                              .sketch_receive_ns = 67,
                              .sketch_difference_ns = 340,
                              .scan_ns = 13};
constexpr PartPrices kAvx512 = {.filter_build_ns = 18,
                                .filter_query_ns = 7.8,
                                .list_send_ns = 24,
                                .list_receive_ns = 27,
                                .keys_send_ns = 34,
                                .keys_receive_ns = 56,
                                .reading_ns = 14,
                                .compression_ns = 9.5,
                                .symbols_send_ns = 3.6,
                                .symbols_receive_ns = 3.9,
                                .symbols_difference_ns = 980,
                                .sketch_send_ns = 72,
                                .sketch_receive_ns = 80,
                                .sketch_difference_ns = 395,
                                .scan_ns = 13};

}  // namespace

const PartPrices& PricesOf(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return kAvx512;
    case Isa::kAvx2:
      return kAvx2;
    case Isa::kSse2:
      return kSse2;
    case Isa::kNeon:  // not measured
    case Isa::kPortable:
      break;
  }
  return kPortable;
}

// While a link carries messages of some ranges, both sides compute for others.
double PriceOfLink(double bytes_per_second, int threads) {
  return 8e-9 * bytes_per_second / (2 * threads);
}

CostWeights WeightsForPrice(double bits_per_cpu_ns, Isa isa) {
  CostWeights weights;
  weights.bits_per_cpu_ns = bits_per_cpu_ns;
  weights.prices = PricesOf(isa);
  return weights;
}

}  // namespace rocksieve::join
