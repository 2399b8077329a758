// SPDX-License-Identifier: Apache-2.0
// The kernel for processors with AVX2, of which it needs what came with it: POPCNT, BMI1, BMI2.
#if defined(__x86_64__)

#include "lib/cpu/target.h"
#include "lib/format/coding.h"
#include "lib/range/kernel.h"

ROCKSIEVE_TARGET_BEGIN("popcnt,bmi,bmi2")
namespace rocksieve::range {
namespace {

uint64_t CountOnes(uint64_t word) { return static_cast<uint64_t>(__builtin_popcountll(word)); }

#include "lib/range/first_from.inc"

}  // namespace

uint64_t Bmi2FirstFrom(const BucketView& bucket, uint64_t least) {
  return FirstFromOf(bucket, least);
}

}  // namespace rocksieve::range
ROCKSIEVE_TARGET_END

#endif
