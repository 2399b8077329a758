// SPDX-License-Identifier: Apache-2.0
// Sorted numbers below a bound, as Rice-coded gaps: random ones cost log2(universe / count) + 1.5
// bits each, 0.06 more than the entropy. Duplicates are kept. Each may carry a few bits of its own.
//
//   count      varint
//   parameter  u8, 0 .. 63; absent if count is 0
//   bits       for each number: (gap >> parameter) ones and a zero, the low `parameter` bits of the
//              gap, then extra_bits bits. The first gap is the first number itself.
//
// Sources: S. W. Golomb, "Run-length encodings", 1966; R. F. Rice, "Some practical universal
// noiseless coding techniques", 1979. The writer tries the parameters around log2(mean gap)
// and takes the best, so that numbers in clusters cost less, not more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/format/byte_io.h"

namespace rocksieve {

struct SortedValues {
  std::vector<uint64_t> values;
  std::vector<uint64_t> extras;  // as many as values, or none if extra_bits is 0
};

// REQUIRES: values ascending; extras.size() == values.size(), each below 2^extra_bits, or both
// extras empty and extra_bits 0; 0 <= extra_bits <= 64.
void EncodeSorted(std::span<const uint64_t> values, std::span<const uint64_t> extras,
                  int extra_bits, ByteWriter* out);

// False, with the reader failed, if there are more than most_values numbers or one above
// `largest`. Allocates no more than the message has room for.
bool DecodeSorted(ByteReader* in, uint64_t largest, int extra_bits, uint64_t most_values,
                  SortedValues* out);

}  // namespace rocksieve
