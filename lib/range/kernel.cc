// SPDX-License-Identifier: Apache-2.0
// The kernels, and the choice among them.
#include "lib/range/kernel.h"

#include "lib/cpu/isa.h"
#include "lib/format/coding.h"

namespace rocksieve::range {
namespace {
namespace portable {

// Sums in ever wider fields (Warren, "Hacker's Delight", 2nd ed., 5-1): without an instruction for
// it, compilers call a function.
uint64_t CountOnes(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return word * 0x0101010101010101 >> 56;
}

#include "lib/range/first_from.inc"

}  // namespace portable
}  // namespace
}  // namespace rocksieve::range

#if defined(__x86_64__)
// For processors with AVX2, of which it needs what came with it: POPCNT, BMI1, BMI2.
ROCKSIEVE_TARGET_BEGIN("popcnt,bmi,bmi2")
namespace rocksieve::range {
namespace {
namespace bmi2 {

uint64_t CountOnes(uint64_t word) { return static_cast<uint64_t>(__builtin_popcountll(word)); }

#include "lib/range/first_from.inc"

}  // namespace bmi2
}  // namespace
}  // namespace rocksieve::range
ROCKSIEVE_TARGET_END
#endif

namespace rocksieve::range {

FirstFrom FirstFromFor([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx2 || isa == Isa::kAvx512) return bmi2::FirstFromOf;
#endif
  return portable::FirstFromOf;
}

}  // namespace rocksieve::range
