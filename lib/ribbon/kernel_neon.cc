// SPDX-License-Identifier: Apache-2.0
// The kernel for arm64: NEON, 16 columns at once.
#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>
#include <cstring>

#include "lib/ribbon/kernel.h"

namespace rocksieve::ribbon {
namespace {

// Each byte: how many of its bits are selected; only whether that is odd matters.
uint8x16_t CountSelected(const uint8_t* first, const uint8_t* second, const uint8_t* third,
                         uint32_t coefficients) {
  const uint8x16_t a = vandq_u8(vld1q_u8(first), vdupq_n_u8(static_cast<uint8_t>(coefficients)));
  const uint8x16_t b =
      vandq_u8(vld1q_u8(second), vdupq_n_u8(static_cast<uint8_t>(coefficients >> 8)));
  const uint8x16_t c =
      vandq_u8(vld1q_u8(third), vdupq_n_u8(static_cast<uint8_t>(coefficients >> 16)));
  return vcntq_u8(veorq_u8(veorq_u8(a, b), c));
}

// Bit j of byte j of each half: the order in which a sum of a half's bytes is a number.
uint8x16_t BitJOfByteJ() { return vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201)); }

uint32_t Value(const uint8_t* first, const uint8_t* second, const uint8_t* third,
               uint32_t coefficients) {
  const uint8x16_t odd = vtstq_u8(CountSelected(first, second, third, coefficients), vdupq_n_u8(1));
  const uint8x16_t bits = vandq_u8(odd, BitJOfByteJ());
  return vaddv_u8(vget_low_u8(bits)) | uint32_t{vaddv_u8(vget_high_u8(bits))} << 8;
}

template <bool kManyColumns>
bool RowMatches(const uint8_t* first, const uint8_t* second, const uint8_t* third,
                uint32_t coefficients, uint32_t fingerprint, const Zone& zone) {
  const uint32_t low = (Value(first, second, third, coefficients) ^ fingerprint) & zone.mask;
  if constexpr (!kManyColumns) return low == 0;
  if ((low & 0xFFFF) != 0) return false;
  const uint32_t high_mask = zone.mask >> 16;
  if (high_mask == 0) return true;
  return ((Value(first + 16, second + 16, third + 16, coefficients) ^ (fingerprint >> 16)) &
          high_mask) == 0;
}

#include "lib/ribbon/query_loop.h"

struct Columns {
  uint8x16_t v;

  static Columns None() { return {vdupq_n_u8(0)}; }
  static Columns Results(uint32_t bits) {
    const uint8x16_t low_and_high = vcombine_u8(vdup_n_u8(static_cast<uint8_t>(bits)),
                                                vdup_n_u8(static_cast<uint8_t>(bits >> 8)));
    return {vandq_u8(low_and_high, BitJOfByteJ())};
  }
  static Columns Masked(Columns columns, uint64_t word) {
    return {vandq_u8(columns.v, vdupq_n_u8(static_cast<uint8_t>(word)))};
  }
  static Columns Xor(Columns a, Columns b) { return {veorq_u8(a.v, b.v)}; }
  static Columns Or(Columns a, Columns b) { return {vorrq_u8(a.v, b.v)}; }
  Columns Parities() const { return {vandq_u8(vcntq_u8(v), vdupq_n_u8(1))}; }
  Columns ShiftLeft(int bits) const { return {vshlq_u8(v, vdupq_n_s8(static_cast<int8_t>(bits)))}; }
  void Store(uint8_t* sixteen_bytes) const { vst1q_u8(sixteen_bytes, v); }
};

#include "lib/ribbon/back_substitution.h"

}  // namespace

const Kernel kNeonKernel = {"neon", QueriesFor, BackSubstitute, nullptr};

}  // namespace rocksieve::ribbon

#endif
