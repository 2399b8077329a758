// SPDX-License-Identifier: Apache-2.0
// The kernel for processors with AVX2, of which it needs what came with it: POPCNT, BMI1, BMI2.
#if defined(__x86_64__)

#include "lib/cpu/isa.h"
#include "lib/format/coding.h"
#include "lib/range/kernel.h"

ROCKSIEVE_TARGET_BEGIN("popcnt,bmi,bmi2")
namespace rocksieve::range {
namespace {

uint64_t CountOnes(uint64_t word) { return static_cast<uint64_t>(__builtin_popcountll(word)); }

#include "lib/range/first_from.inc"

}  // namespace

}  // namespace rocksieve::range
ROCKSIEVE_TARGET_END

namespace rocksieve::range {

const Kernel kBmi2Kernel = {Isa::kAvx2, FirstFromOf};

}  // namespace rocksieve::range

#endif
