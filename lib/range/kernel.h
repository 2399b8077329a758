// SPDX-License-Identifier: Apache-2.0
// The inner loop of queries in a CodeSet, one implementation per instruction set. All of them give
// the same answers.
#pragma once

#include <cstdint>

#include "lib/cpu/isa.h"

namespace rocksieve::range {

inline constexpr uint64_t kNoCode = UINT64_MAX;

// Where the codes of a bucket are.
struct BucketView {
  const uint8_t* data = nullptr;
  uint64_t begin = 0, end = 0;  // in bits of the data
  uint64_t first_value = 0;     // codes are not below it
  uint64_t low_bits = 0;        // of each gap, at most 50
};

// The first code of the bucket that is not below `least`; kNoCode if it has none. May read 8 bytes
// beyond the end.
using FirstFrom = uint64_t (*)(const BucketView& bucket, uint64_t least);

// That of the best kernel for `isa`, which this processor can use.
FirstFrom FirstFromFor(Isa isa);

}  // namespace rocksieve::range
