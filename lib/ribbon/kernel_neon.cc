// SPDX-License-Identifier: Apache-2.0
// The kernel for arm64: NEON, 16 columns at once.
#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>
#include <cstring>

#include "lib/ribbon/kernel.h"

namespace rocksieve::ribbon {
namespace {

// Bit j of byte j of each half: the order in which a sum of a half's bytes is a number.
uint8x16_t BitJOfByteJ() { return vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201)); }

struct Selection {
  uint8x16_t a, b, c;  // each of the lowest three bytes of the coefficients, 16 times

  explicit Selection(uint32_t coefficients)
      : a(vdupq_n_u8(static_cast<uint8_t>(coefficients))),
        b(vdupq_n_u8(static_cast<uint8_t>(coefficients >> 8))),
        c(vdupq_n_u8(static_cast<uint8_t>(coefficients >> 16))) {}

  uint32_t Value(const uint8_t* first, const uint8_t* second, const uint8_t* third) const {
    const uint8x16_t sum =
        veorq_u8(veorq_u8(vandq_u8(vld1q_u8(first), a), vandq_u8(vld1q_u8(second), b)),
                 vandq_u8(vld1q_u8(third), c));
    const uint8x16_t bits = vandq_u8(vtstq_u8(vcntq_u8(sum), vdupq_n_u8(1)), BitJOfByteJ());
    return vaddv_u8(vget_low_u8(bits)) | uint32_t{vaddv_u8(vget_high_u8(bits))} << 8;
  }
};

#include "lib/ribbon/row_of_vectors.h"

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
