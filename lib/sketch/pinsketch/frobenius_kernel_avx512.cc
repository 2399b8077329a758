// SPDX-License-Identifier: Apache-2.0
// Products without carries (VPCLMULQDQ), two coefficients at a time: below 2^16 their product with
// a third fits 32 bits each. Sums of products are reduced once.
#if defined(__x86_64__)

// GCC takes the deliberately undefined values in its own AVX-512 header for mistakes (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "lib/cpu/isa.h"
#include "lib/sketch/pinsketch/algebra.h"

ROCKSIEVE_TARGET_BEGIN("avx2,bmi,bmi2,avx512f,avx512bw,avx512vl,avx512dq,vpclmulqdq")
namespace rocksieve::pinsketch {
namespace {

constexpr size_t kLanes = 16;  // coefficients of a vector

class Reducer {
 public:
  // The field's polynomial is x^bits + tail.
  explicit Reducer(const Field& field)
      : bits_(static_cast<unsigned>(field.bits())),
        tail_(_mm512_set1_epi64(field.Exp(bits_))),
        low_(_mm512_set1_epi32(static_cast<int>(field.order()))) {
    // What is beyond the lowest bits is replaced by its product with the tail, until nothing is.
    const int tail_degree = 31 - __builtin_clz(field.Exp(bits_));
    for (int degree = 2 * field.bits() - 2; degree >= field.bits(); rounds_++) {
      degree += tail_degree - field.bits();
    }
  }

  __m512i Reduce(__m512i products) const {
    for (int round = 0; round < rounds_; round++) {
      const __m512i high = _mm512_srl_epi32(products, _mm_cvtsi32_si128(static_cast<int>(bits_)));
      products = _mm512_xor_si512(_mm512_and_si512(products, low_), Product(high, tail_));
    }
    return products;
  }

  // Of each coefficient with one factor, not reduced.
  static __m512i Product(__m512i coefficients, __m512i factor) {
    return _mm512_unpacklo_epi64(_mm512_clmulepi64_epi128(coefficients, factor, 0x00),
                                 _mm512_clmulepi64_epi128(coefficients, factor, 0x01));
  }

  // In squares of sums the products of different terms cancel out.
  __m512i Square(__m512i coefficients) const {
    const __m512i low = _mm512_clmulepi64_epi128(coefficients, coefficients, 0x00);
    const __m512i high = _mm512_clmulepi64_epi128(coefficients, coefficients, 0x11);
    return Reduce(_mm512_castps_si512(
        _mm512_shuffle_ps(_mm512_castsi512_ps(low), _mm512_castsi512_ps(high), 0x88)));
  }

 private:
  const unsigned bits_;
  const __m512i tail_, low_;
  int rounds_ = 0;
};

// kVectors vectors for each row of coefficients.
template <size_t kVectors>
class Powers {
 public:
  Powers(const Field& field, const uint32_t* p, size_t degree)
      : reducer_(field), bits_(static_cast<size_t>(field.bits())), degree_(degree) {
    for (size_t v = 0; v < kVectors; v++) {
      const size_t left = degree > v * kLanes ? degree - v * kLanes : 0;
      lanes_[v] = static_cast<__mmask16>(left >= kLanes ? 0xffff : (1u << left) - 1);
      reduced_[0][v] = _mm512_maskz_loadu_epi32(lanes_[v], p + v * kLanes);
    }
    // x^(degree + i) = x * x^(degree + i - 1): a shift, and x^degree replaced.
    for (size_t i = 1; i < degree; i++) {
      const __m512i* const last = reduced_[i - 1];
      alignas(64) uint32_t coefficients[kVectors * kLanes];
      for (size_t v = 0; v < kVectors; v++) _mm512_store_si512(coefficients + v * kLanes, last[v]);
      const __m512i top = _mm512_set1_epi64(coefficients[degree - 1]);
      __m512i before = _mm512_setzero_si512();
      for (size_t v = 0; v < kVectors; v++) {
        const __m512i shifted = _mm512_alignr_epi32(last[v], before, 15);
        const __m512i product = reducer_.Reduce(Reducer::Product(reduced_[0][v], top));
        reduced_[i][v] = _mm512_maskz_xor_epi32(lanes_[v], shifted, product);
        before = last[v];
      }
    }
  }

  bool Write(uint32_t* powers) {
    alignas(64) uint32_t row[kVectors * kLanes] = {0, 1};
    for (size_t i = 0; i < bits_; i++) {
      for (size_t j = 0; j < degree_; j++) powers[i * degree_ + j] = row[j];
      Square(row);
    }
    bool is_x = true;
    for (size_t j = 0; j < degree_; j++) is_x &= row[j] == (j == 1);
    return is_x;
  }

 private:
  void Square(uint32_t* row) const {
    alignas(64) uint32_t squares[kVectors * kLanes];
    for (size_t v = 0; v < kVectors; v++) {
      _mm512_store_si512(squares + v * kLanes,
                         reducer_.Square(_mm512_load_si512(row + v * kLanes)));
    }
    __m512i sums[kVectors];
    for (size_t v = 0; v < kVectors; v++) sums[v] = _mm512_setzero_si512();
    for (size_t j = (degree_ + 1) / 2; j < degree_; j++) {
      if (squares[j] == 0) continue;
      const __m512i square = _mm512_set1_epi64(squares[j]);
      const __m512i* const reduced = reduced_[2 * j - degree_];
      for (size_t v = 0; v < kVectors; v++) {
        sums[v] = _mm512_xor_si512(sums[v], Reducer::Product(reduced[v], square));
      }
    }
    // Squares of the lower coefficients go where they belong, every other place.
    const __m512i first = _mm512_load_si512(squares);
    const __m512i halves = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    for (size_t v = 0; v < kVectors; v++) {
      const __m512i places =
          _mm512_add_epi32(halves, _mm512_set1_epi32(static_cast<int>(v * kLanes / 2)));
      const auto even = static_cast<__mmask16>(lanes_[v] & 0x5555);
      const __m512i low = _mm512_maskz_permutexvar_epi32(even, places, first);
      _mm512_store_si512(row + v * kLanes, _mm512_xor_si512(reducer_.Reduce(sums[v]), low));
    }
  }

  const Reducer reducer_;
  const size_t bits_, degree_;
  __mmask16 lanes_[kVectors];
  __m512i reduced_[kVectors * kLanes][kVectors];  // x^(degree + i) modulo p
};

}  // namespace

bool FrobeniusByAvx512(const Field& field, const uint32_t* p, size_t degree, uint32_t* powers) {
  return degree <= kLanes ? Powers<1>(field, p, degree).Write(powers)
                          : Powers<2>(field, p, degree).Write(powers);
}

}  // namespace rocksieve::pinsketch
ROCKSIEVE_TARGET_END
#endif
