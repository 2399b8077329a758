// The kernel for processors with GFNI (Intel since Ice Lake, AMD since Zen 4): a product of 8x8 bit
// matrices takes the place of an AND and the folding of parities.
#if defined(__x86_64__)

#include <immintrin.h>

#include "cpu/target.h"
#include "ribbon/query_parts.h"

ROCKSIEVE_TARGET_BEGIN("gfni,avx")
namespace rocksieve::ribbon {
namespace {

__m128i Load(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// A matrix, twice, whose only row that is not 0 is the one that makes the highest bit of a product:
// one of the lowest three bytes of a word.
template <char kByte>
__m128i Matrix(__m128i word) {
  return _mm_shuffle_epi8(word, _mm_set_epi8(-1, -1, -1, -1, -1, -1, -1, kByte,  //
                                             -1, -1, -1, -1, -1, -1, -1, kByte));
}

// The highest bit of each byte of the products is the parity of the bits selected.
uint32_t Value(const uint8_t* first, const uint8_t* second, const uint8_t* third, __m128i a,
               __m128i b, __m128i c) {
  const __m128i sum = _mm_xor_si128(_mm_xor_si128(_mm_gf2p8affine_epi64_epi8(Load(first), a, 0),
                                                  _mm_gf2p8affine_epi64_epi8(Load(second), b, 0)),
                                    _mm_gf2p8affine_epi64_epi8(Load(third), c, 0));
  return static_cast<uint32_t>(_mm_movemask_epi8(sum));
}

template <bool kManyColumns>
bool RowMatches(const uint8_t* first, const uint8_t* second, const uint8_t* third,
                uint32_t coefficients, uint32_t fingerprint, const Zone& zone) {
  const __m128i word = _mm_cvtsi32_si128(static_cast<int>(coefficients));
  const __m128i a = Matrix<0>(word), b = Matrix<1>(word), c = Matrix<2>(word);
  const uint32_t low = (Value(first, second, third, a, b, c) ^ fingerprint) & zone.mask;
  if constexpr (!kManyColumns) return low == 0;
  if ((low & 0xFFFF) != 0) return false;
  const uint32_t high_mask = zone.mask >> 16;
  if (high_mask == 0) return true;
  return ((Value(first + 16, second + 16, third + 16, a, b, c) ^ (fingerprint >> 16)) &
          high_mask) == 0;
}

#include "ribbon/query_loop.h"

void BackSubstitute(const Equations& equations, const GroupLayout& layout, uint8_t* group_bytes) {
  kPortableKernel.back_substitute(equations, layout, group_bytes);
}

}  // namespace

const Kernel kGfniKernel = {"gfni", QueryFor, BackSubstitute};

}  // namespace rocksieve::ribbon
ROCKSIEVE_TARGET_END

#endif
