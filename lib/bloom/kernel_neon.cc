// SPDX-License-Identifier: Apache-2.0
// The kernel for arm64: NEON for the choice of seeds; the query is the portable one, whose scalar
// bit tests are what these machines are good at.
#if defined(__aarch64__)

#include <arm_neon.h>

#include "lib/bloom/kernel.h"

namespace rocksieve::bloom {
namespace {

struct Vector {
  static constexpr int kLanes = 2;
  uint64x2_t v;

  static Vector Load(const uint64_t* from) { return {vld1q_u64(from)}; }
  void Store(uint64_t* to) const { vst1q_u64(to, v); }
  static Vector Splat(uint64_t x) { return {vdupq_n_u64(x)}; }
  static Vector Worst() { return Splat(0x7FFF); }  // ranks are compared as 16 bits, signed
  static Vector Or(Vector a, Vector b) { return {vorrq_u64(a.v, b.v)}; }
  // A negative count shifts right, and a shift by 64 gives 0, as wanted.
  static Vector RotateLeft(Vector a, int n) {
    return {vorrq_u64(vshlq_u64(a.v, vdupq_n_s64(n)), vshlq_u64(a.v, vdupq_n_s64(n - 64)))};
  }
  static Vector PopCount(Vector a) {
    return {vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vcntq_u8(vreinterpretq_u8_u64(a.v)))))};
  }
  static Vector Ranked(Vector a, int tag) {
    return {vorrq_u64(vshlq_n_u64(PopCount(a).v, 8), Splat(static_cast<uint64_t>(tag)).v)};
  }
  static Vector Min(Vector a, Vector b) {
    return {
        vreinterpretq_u64_s16(vminq_s16(vreinterpretq_s16_u64(a.v), vreinterpretq_s16_u64(b.v)))};
  }
  static Vector Max(Vector a, Vector b) {
    return {
        vreinterpretq_u64_s16(vmaxq_s16(vreinterpretq_s16_u64(a.v), vreinterpretq_s16_u64(b.v)))};
  }
};

#include "lib/bloom/choose_seeds.h"

}  // namespace

const Kernel kNeonKernel = {"neon", PortableQueriesFor, PortableAddKeys, SeedChoiceFor};

}  // namespace rocksieve::bloom

#endif
