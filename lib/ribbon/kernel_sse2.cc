// The kernel for baseline x86-64: SSE2, 16 columns at once.
#if defined(__x86_64__)

#include <emmintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ribbon/query_parts.h"

namespace rocksieve::ribbon {
namespace {

__m128i Load(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// The highest bit of each byte of the three chunks' sum becomes the parity of its bits, and these
// bits become a number.
uint32_t Value(const uint8_t* first, const uint8_t* second, const uint8_t* third, __m128i a,
               __m128i b, __m128i c) {
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

template <bool kManyColumns>
bool RowMatches(const uint8_t* first, const uint8_t* second, const uint8_t* third,
                uint32_t coefficients, uint32_t fingerprint, const Zone& zone) {
  // Each of the lowest three bytes in four bytes, then in all.
  __m128i bytes = _mm_cvtsi32_si128(static_cast<int>(coefficients));
  bytes = _mm_unpacklo_epi8(bytes, bytes);
  bytes = _mm_unpacklo_epi16(bytes, bytes);
  const __m128i a = _mm_shuffle_epi32(bytes, 0x00), b = _mm_shuffle_epi32(bytes, 0x55),
                c = _mm_shuffle_epi32(bytes, 0xAA);
  const uint32_t low = (Value(first, second, third, a, b, c) ^ fingerprint) & zone.mask;
  if constexpr (!kManyColumns) return low == 0;
  if ((low & 0xFFFF) != 0) return false;
  const uint32_t high_mask = zone.mask >> 16;
  if (high_mask == 0) return true;
  return ((Value(first + 16, second + 16, third + 16, a, b, c) ^ (fingerprint >> 16)) &
          high_mask) == 0;
}

#include "ribbon/query_loop.h"

// Every byte value, 16 times over: there is no quick way to spread a byte before SSSE3.
class SpreadBytes {
 public:
  constexpr SpreadBytes() : bytes_() {
    for (int value = 0; value < 256; value++) {
      for (int i = 0; i < 16; i++) bytes_[16 * value + i] = static_cast<uint8_t>(value);
    }
  }
  __m128i Of(uint64_t word) const {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes_.data() + 16 * (word & 0xFF)));
  }

 private:
  alignas(16) std::array<uint8_t, 256 * 16> bytes_;
};
constexpr SpreadBytes kSpread;

struct Columns {
  __m128i v;

  static Columns None() { return {_mm_setzero_si128()}; }
  static Columns Results(uint32_t bits) {
    constexpr auto kBitJOfByteJ = static_cast<long long>(0x8040201008040201);
    const __m128i low_and_high = _mm_unpacklo_epi64(kSpread.Of(bits), kSpread.Of(bits >> 8));
    return {_mm_and_si128(low_and_high, _mm_set1_epi64x(kBitJOfByteJ))};
  }
  static Columns Masked(Columns columns, uint64_t word) {
    return {_mm_and_si128(columns.v, kSpread.Of(word))};
  }
  static Columns Xor(Columns a, Columns b) { return {_mm_xor_si128(a.v, b.v)}; }
  static Columns Or(Columns a, Columns b) { return {_mm_or_si128(a.v, b.v)}; }
  Columns Parities() const {
    __m128i x = _mm_xor_si128(v, _mm_srli_epi16(v, 4));
    x = _mm_xor_si128(x, _mm_srli_epi16(x, 2));
    x = _mm_xor_si128(x, _mm_srli_epi16(x, 1));
    return {_mm_and_si128(x, _mm_set1_epi8(1))};
  }
  Columns ShiftLeft(int bits) const { return {_mm_sll_epi16(v, _mm_cvtsi32_si128(bits))}; }
  void Store(uint8_t* sixteen_bytes) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sixteen_bytes), v);
  }
};

#include "ribbon/back_substitution.h"

}  // namespace

const Kernel kSse2Kernel = {"sse2", QueryFor, BackSubstitute};

}  // namespace rocksieve::ribbon

#endif
