// SPDX-License-Identifier: Apache-2.0
// The kernel for processors with GFNI (Intel since Ice Lake, AMD since Zen 4): a product of 8x8 bit
// matrices takes the place of an AND and the folding of parities.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "lib/cpu/isa.h"
#include "lib/ribbon/kernel.h"

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

struct Selection {
  __m128i a, b, c;

  explicit Selection(uint32_t coefficients) {
    const __m128i word = _mm_cvtsi32_si128(static_cast<int>(coefficients));
    a = Matrix<0>(word), b = Matrix<1>(word), c = Matrix<2>(word);
  }

  // The highest bit of each byte of the products is the parity of the bits selected.
  uint32_t Value(const uint8_t* first, const uint8_t* second, const uint8_t* third) const {
    const __m128i sum = _mm_xor_si128(_mm_xor_si128(_mm_gf2p8affine_epi64_epi8(Load(first), a, 0),
                                                    _mm_gf2p8affine_epi64_epi8(Load(second), b, 0)),
                                      _mm_gf2p8affine_epi64_epi8(Load(third), c, 0));
    return static_cast<uint32_t>(_mm_movemask_epi8(sum));
  }
};

#include "lib/ribbon/row_of_vectors.h"

#include "lib/ribbon/query_loop.h"

// Back substitution, one group at a time, 8 slots and 16 columns: where the plain code takes slot
// after slot, all that a group needs of the seven behind it are seven products of bit matrices, and
// one more solves the equations inside the group.
//
// A vector holds, per column, a byte with the bits of 8 slots. As a matrix operand, a word has the
// row that makes bit i of a product in its byte 7 - i; both words of a vector are the same matrix.
constexpr long long kIdentity = 0x0102040810204080;

__m128i Product(__m128i bytes, __m128i matrix) {
  return _mm_gf2p8affine_epi64_epi8(bytes, matrix, 0);
}

__m128i Transposed(__m128i matrix) { return Product(_mm_set1_epi64x(kIdentity), matrix); }

// The rows of a * b, of b transposed.
__m128i MatrixProduct(__m128i a, __m128i b_transposed) { return Product(a, b_transposed); }

// Of a matrix with ones in its diagonal and zeros before them: I + n has the inverse
// (I + n)(I + n^2)(I + n^4), since n^8 = 0.
__m128i Inverse(__m128i matrix) {
  const __m128i identity = _mm_set1_epi64x(kIdentity);
  const __m128i n = _mm_andnot_si128(identity, matrix);
  const __m128i n2 = MatrixProduct(n, Transposed(n));
  const __m128i n2_transposed = Transposed(n2);
  const __m128i n4 = MatrixProduct(n2, n2_transposed);
  const __m128i two =
      MatrixProduct(_mm_xor_si128(identity, n), _mm_xor_si128(identity, n2_transposed));
  return MatrixProduct(two, _mm_xor_si128(identity, Transposed(n4)));
}

struct TwoMatrices {
  __m128i both;
  __m128i first() const { return _mm_unpacklo_epi64(both, both); }
  __m128i second() const { return _mm_unpackhi_epi64(both, both); }
};

__m128i SelectedFrom(const uint64_t* coefficients, int slot) {
  return _mm_cvtsi64_si128(static_cast<long long>(coefficients[slot] << slot));
}

// What the slots of a group select: matrix k is of the group k behind it.
struct GroupMatrices {
  TwoMatrices pairs[4];

  explicit GroupMatrices(const uint64_t* from) {
    // Transposes eight words of eight bytes.
    const __m128i a = _mm_unpacklo_epi8(SelectedFrom(from, 7), SelectedFrom(from, 6));
    const __m128i b = _mm_unpacklo_epi8(SelectedFrom(from, 5), SelectedFrom(from, 4));
    const __m128i c = _mm_unpacklo_epi8(SelectedFrom(from, 3), SelectedFrom(from, 2));
    const __m128i d = _mm_unpacklo_epi8(SelectedFrom(from, 1), SelectedFrom(from, 0));
    const __m128i ab_low = _mm_unpacklo_epi16(a, b), ab_high = _mm_unpackhi_epi16(a, b);
    const __m128i cd_low = _mm_unpacklo_epi16(c, d), cd_high = _mm_unpackhi_epi16(c, d);
    pairs[0].both = _mm_unpacklo_epi32(ab_low, cd_low);
    pairs[1].both = _mm_unpackhi_epi32(ab_low, cd_low);
    pairs[2].both = _mm_unpacklo_epi32(ab_high, cd_high);
    pairs[3].both = _mm_unpackhi_epi32(ab_high, cd_high);
  }
};

// Bits 8 * kFirstByte .. 8 * kFirstByte + 15 of eight results, as bytes per column.
template <int kFirstByte>
__m128i ColumnsOf(const uint32_t* results) {
  constexpr char b = kFirstByte, c = kFirstByte + 1;
  const __m128i first_four = _mm_set_epi8(c, c + 4, c + 8, c + 12, -1, -1, -1, -1,  //
                                          b, b + 4, b + 8, b + 12, -1, -1, -1, -1);
  const __m128i last_four = _mm_set_epi8(-1, -1, -1, -1, c, c + 4, c + 8, c + 12,  //
                                         -1, -1, -1, -1, b, b + 4, b + 8, b + 12);
  const auto* from = reinterpret_cast<const __m128i*>(results);
  const __m128i rows = _mm_or_si128(_mm_shuffle_epi8(_mm_loadu_si128(from), first_four),
                                    _mm_shuffle_epi8(_mm_loadu_si128(from + 1), last_four));
  // The products with 1, 2, 4 .. 128 are the columns of the matrix.
  return Product(_mm_set1_epi64x(static_cast<long long>(0x8040201008040201)), rows);
}

template <int kFirstColumn>
void SolveColumns(const Equations& equations, const GroupLayout& layout, uint8_t* group_bytes) {
  __m128i s1 = _mm_setzero_si128(), s2 = s1, s3 = s1, s4 = s1, s5 = s1, s6 = s1, s7 = s1;
  for (uint64_t group = layout.groups; group-- > 0;) {
    const uint64_t slot = group * kSlotsPerGroup;
    const GroupMatrices m(equations.coefficients() + slot);
    __m128i sum = ColumnsOf<kFirstColumn / 8>(equations.results() + slot);
    sum = _mm_xor_si128(
        sum, _mm_xor_si128(Product(s7, m.pairs[3].second()), Product(s6, m.pairs[3].first())));
    sum = _mm_xor_si128(
        sum, _mm_xor_si128(Product(s5, m.pairs[2].second()), Product(s4, m.pairs[2].first())));
    sum = _mm_xor_si128(
        sum, _mm_xor_si128(Product(s3, m.pairs[1].second()), Product(s2, m.pairs[1].first())));
    sum = _mm_xor_si128(sum, Product(s1, m.pairs[0].second()));
    const __m128i solved = Product(sum, Inverse(m.pairs[0].first()));

    uint8_t bytes[16];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes), solved);
    const int columns = layout.columns + (group >= layout.first_wide_group ? 1 : 0) - kFirstColumn;
    std::memcpy(group_bytes + layout.Byte(group) + kFirstColumn, bytes,
                static_cast<size_t>(columns < 16 ? columns : 16));
    s7 = s6, s6 = s5, s5 = s4, s4 = s3, s3 = s2, s2 = s1, s1 = solved;
  }
}

void BackSubstitute(const Equations& equations, const GroupLayout& layout, uint8_t* group_bytes) {
  SolveColumns<0>(equations, layout, group_bytes);
  if (layout.columns + (layout.has_wide_groups() ? 1 : 0) > 16) {
    SolveColumns<16>(equations, layout, group_bytes);
  }
}

}  // namespace

const Kernel kGfniKernel = {"gfni", QueriesFor, BackSubstitute, nullptr};

}  // namespace rocksieve::ribbon
ROCKSIEVE_TARGET_END

#endif
