// SPDX-License-Identifier: Apache-2.0
// The kernel for baseline x86-64: SSE2 for the choice of seeds. The query is the portable one:
// loading the line into vectors gains nothing without the variable shifts of AVX2.
#if defined(__x86_64__)

#include <emmintrin.h>

#include "lib/bloom/kernel.h"

namespace rocksieve::bloom {
namespace {

struct Vector {
  static constexpr int kLanes = 2;
  __m128i v;

  static Vector Load(const uint64_t* from) {
    return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))};
  }
  void Store(uint64_t* to) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v); }
  static Vector Splat(uint64_t x) { return {_mm_set1_epi64x(static_cast<long long>(x))}; }
  static Vector Worst() { return Splat(0x7FFF); }  // ranks are compared as 16 bits, signed
  static Vector Or(Vector a, Vector b) { return {_mm_or_si128(a.v, b.v)}; }
  // A shift by 64 gives 0, as wanted.
  static Vector RotateLeft(Vector a, int n) {
    return {_mm_or_si128(_mm_sll_epi64(a.v, _mm_cvtsi32_si128(n)),
                         _mm_srl_epi64(a.v, _mm_cvtsi32_si128(64 - n)))};
  }
  // Bits of pairs, of nibbles, of bytes; the last sum is an instruction.
  static Vector PopCount(Vector a) {
    const __m128i ones = _mm_set1_epi8(0x55), pairs = _mm_set1_epi8(0x33), low = _mm_set1_epi8(15);
    __m128i x = _mm_sub_epi8(a.v, _mm_and_si128(_mm_srli_epi64(a.v, 1), ones));
    x = _mm_add_epi8(_mm_and_si128(x, pairs), _mm_and_si128(_mm_srli_epi64(x, 2), pairs));
    x = _mm_and_si128(_mm_add_epi8(x, _mm_srli_epi64(x, 4)), low);
    return {_mm_sad_epu8(x, _mm_setzero_si128())};
  }
  static Vector Ranked(Vector a, int tag) {
    return {_mm_or_si128(_mm_slli_epi64(PopCount(a).v, 8), Splat(static_cast<uint64_t>(tag)).v)};
  }
  static Vector Min(Vector a, Vector b) { return {_mm_min_epi16(a.v, b.v)}; }
  static Vector Max(Vector a, Vector b) { return {_mm_max_epi16(a.v, b.v)}; }
};

#include "lib/bloom/choose_seeds.h"

}  // namespace

const Kernel kSse2Kernel = {"sse2", PortableQueriesFor, PortableAddKeys, SeedChoiceFor};

}  // namespace rocksieve::bloom

#endif
