// SPDX-License-Identifier: Apache-2.0
// The kernel for baseline x86-64: SSE2, 16 columns at once.
#if defined(__x86_64__)

#include <emmintrin.h>

#include "lib/ribbon/kernel.h"

namespace rocksieve::ribbon {
namespace {

__m128i Load(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

struct Selection {
  __m128i a, b, c;  // each of the lowest three bytes of the coefficients, 16 times

  explicit Selection(uint32_t coefficients) {
    __m128i bytes = _mm_cvtsi32_si128(static_cast<int>(coefficients));
    bytes = _mm_unpacklo_epi8(bytes, bytes);
    bytes = _mm_unpacklo_epi16(bytes, bytes);
    a = _mm_shuffle_epi32(bytes, 0x00);
    b = _mm_shuffle_epi32(bytes, 0x55);
    c = _mm_shuffle_epi32(bytes, 0xAA);
  }

  // The highest bit of each byte of the three chunks' sum becomes the parity of its bits, and these
  // bits become a number.
  uint32_t Value(const uint8_t* first, const uint8_t* second, const uint8_t* third) const {
    __m128i sum =
        _mm_xor_si128(_mm_xor_si128(_mm_and_si128(Load(first), a), _mm_and_si128(Load(second), b)),
                      _mm_and_si128(Load(third), c));
    // There are no shifts of bytes; what a shift carries into the next byte does not reach its
    // highest bit.
    sum = _mm_xor_si128(sum, _mm_slli_epi16(sum, 4));
    sum = _mm_xor_si128(sum, _mm_slli_epi16(sum, 2));
    sum = _mm_xor_si128(sum, _mm_add_epi8(sum, sum));
    return static_cast<uint32_t>(_mm_movemask_epi8(sum));
  }
};

#include "lib/ribbon/row_of_vectors.h"

#include "lib/ribbon/query_loop.h"

// Compilers make SSE2 instructions of the plain code, and those are not slower.
void BackSubstitute(const Equations& equations, const GroupLayout& layout, uint8_t* group_bytes) {
  kPortableKernel.back_substitute(equations, layout, group_bytes);
}

}  // namespace

const Kernel kSse2Kernel = {"sse2", QueriesFor, BackSubstitute, nullptr};

}  // namespace rocksieve::ribbon

#endif
