// SPDX-License-Identifier: Apache-2.0
// The kernel for AVX-512: sixteen jumps at a time in single precision, and those again in double
// precision that are so near to a whole number that rounding up might differ.
#if defined(__x86_64__)

// GCC takes the deliberately undefined values in its own AVX-512 header for mistakes (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "lib/cpu/isa.h"
#include "lib/sketch/rateless_kernel.h"

ROCKSIEVE_TARGET_BEGIN(
    "avx2,bmi,bmi2,avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx512vbmi")
namespace rocksieve {
namespace {

constexpr size_t kBlock = 512, kLanes = 16;

__m512i MixAll(__m512i x) {
  const __m512i first = _mm512_set1_epi64(static_cast<long long>(0xbf58476d1ce4e5b9));
  const __m512i second = _mm512_set1_epi64(static_cast<long long>(0x94d049bb133111eb));
  x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 30)), first);
  x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 27)), second);
  return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
}

// The low `lanes` of a mask, at most as many as it has.
__mmask16 LowLanes(size_t lanes) {
  return static_cast<__mmask16>(lanes >= kLanes ? 0xffff : (1u << lanes) - 1);
}

// RatelessMapping::Advance() in double precision, which is exact by definition; as floats, which
// hold whole numbers below 2^24.
__m256 ExactNext(__m512i state, __m256 float_index) {
  const __m512d u =
      _mm512_cvtepu64_pd(_mm512_add_epi64(_mm512_srli_epi64(state, 32), _mm512_set1_epi64(1)));
  const __m512d index = _mm512_cvtps_pd(float_index);
  const __m512d pair = _mm512_mul_pd(_mm512_add_pd(index, _mm512_set1_pd(1)),
                                     _mm512_add_pd(index, _mm512_set1_pd(2)));
  const __m512d quotient = _mm512_div_pd(_mm512_mul_pd(pair, _mm512_set1_pd(0x1p32)), u);
  const __m512d next = _mm512_sub_pd(_mm512_sqrt_pd(_mm512_add_pd(quotient, _mm512_set1_pd(0.25))),
                                     _mm512_set1_pd(1.5));
  return _mm512_cvtpd_ps(_mm512_roundscale_pd(next, _MM_FROUND_TO_POS_INF));
}

class Block {
 public:
  // In single precision six roundings make an error of at most 4.5 * 2^-24 of the root, which is
  // below symbols + 4 if it matters.
  explicit Block(size_t symbols)
      : symbols_(static_cast<float>(symbols)),
        unsafe_distance_(4e-7f * static_cast<float>(symbols + 4)) {}

  void Take(const uint64_t* ids, size_t count) {
    const __m512i multiplier =
        _mm512_set1_epi64(static_cast<long long>(RatelessMapping::kMultiplier));
    size_t left = 0;
    for (size_t i = 0; i < count; i += kLanes) {
      __m512i state[2];
      for (size_t half = 0; half < 2; half++) {
        const size_t at = i + 8 * half;
        const auto lanes = static_cast<__mmask8>(at < count ? LowLanes(count - at) : 0);
        const __m512i id = _mm512_maskz_loadu_epi64(lanes, ids + at);
        state[half] = _mm512_mullo_epi64(StateOf(id), multiplier);
        AddToFirst(id, lanes, at);
      }
      const __m512i slots =
          _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                           _mm512_set1_epi32(static_cast<int>(i)));
      left = Jump(state[0], state[1], _mm512_setzero_ps(), slots, LowLanes(count - i), left);
    }
    count_ = left;
  }
  bool empty() const { return count_ == 0; }

  void AddTo(PackedRatelessCell* cells) const {
    for (size_t i = 0; i < count_; i++) {
      auto* const cell = reinterpret_cast<__m128i*>(cells + index_[i]);
      const auto* const key = reinterpret_cast<const __m128i*>(key_ + slot_[i]);
      _mm_store_si128(cell, _mm_add_epi64(_mm_load_si128(cell), _mm_load_si128(key)));
    }
  }

  void JumpAll() {
    const __m512i multiplier =
        _mm512_set1_epi64(static_cast<long long>(RatelessMapping::kMultiplier));
    size_t left = 0;
    for (size_t i = 0; i < count_; i += kLanes) {
      const __m512i low = _mm512_mullo_epi64(_mm512_load_si512(state_ + i), multiplier);
      const __m512i high = _mm512_mullo_epi64(_mm512_load_si512(state_ + i + 8), multiplier);
      left = Jump(low, high, _mm512_cvtepi32_ps(_mm512_load_si512(index_ + i)),
                  _mm512_load_si512(slot_ + i), LowLanes(count_ - i), left);
    }
    count_ = left;
  }

  // What the keys of all blocks add to symbol 0.
  void AddFirstTo(PackedRatelessCell* cell) const {
    alignas(64) uint64_t ids[8], rest[8];
    _mm512_store_si512(ids, first_ids_);
    _mm512_store_si512(rest, first_rest_);
    for (size_t lane = 0; lane < 8; lane++) {
      cell->ids += ids[lane];
      cell->checks_and_count += rest[lane];
    }
  }

 private:
  static __m512i StateOf(__m512i id) {
    const __m512i seed = _mm512_set1_epi64(static_cast<long long>(RatelessMapping::kSeed));
    return _mm512_or_si512(MixAll(_mm512_xor_si512(id, seed)), _mm512_set1_epi64(1));
  }

  void AddToFirst(__m512i id, __mmask8 lanes, size_t at) {
    const __m512i mixed =
        MixAll(_mm512_add_epi64(id, _mm512_set1_epi64(static_cast<long long>(kRatelessCheckSeed))));
    const __m512i rest = _mm512_or_si512(
        _mm512_and_si512(mixed, _mm512_set1_epi64(static_cast<long long>(0xffffffff00000000))),
        _mm512_set1_epi64(1));
    first_ids_ = _mm512_add_epi64(first_ids_, id);  // 0 where there is none
    first_rest_ = _mm512_mask_add_epi64(first_rest_, lanes, first_rest_, rest);
    const __m512i low_pairs = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i high_pairs = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    _mm512_store_si512(key_ + at, _mm512_permutex2var_epi64(id, low_pairs, rest));
    _mm512_store_si512(key_ + at + 4, _mm512_permutex2var_epi64(id, high_pairs, rest));
  }

  // From `index` on, by states that were multiplied already; keeps those within the symbols, at
  // `left`, and returns where the next ones go, at most as far on as these came from.
  size_t Jump(__m512i low, __m512i high, __m512 index, __m512i slots, __mmask16 lanes,
              size_t left) {
    const __m512 one = _mm512_set1_ps(1), symbols = _mm512_set1_ps(symbols_);
    const __m512i upper_halves =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    const __m512 u =
        _mm512_add_ps(_mm512_cvtepu32_ps(_mm512_permutex2var_epi32(low, upper_halves, high)), one);
    const __m512 after = _mm512_add_ps(index, one);
    const __m512 pair = _mm512_mul_ps(after, _mm512_add_ps(index, _mm512_set1_ps(2)));
    const __m512 quotient = _mm512_div_ps(_mm512_mul_ps(pair, _mm512_set1_ps(0x1p32f)), u);
    const __m512 root = _mm512_sqrt_ps(_mm512_add_ps(quotient, _mm512_set1_ps(0.25f)));
    const __m512 exact = _mm512_sub_ps(root, _mm512_set1_ps(1.5f));
    __m512 next = _mm512_roundscale_ps(exact, _MM_FROUND_TO_POS_INF);
    const __m512 distance =
        _mm512_abs_ps(_mm512_sub_ps(exact, _mm512_roundscale_ps(exact, _MM_FROUND_TO_NEAREST_INT)));
    const __mmask16 near =
        _mm512_mask_cmp_ps_mask(lanes, exact, _mm512_add_ps(symbols, one), _CMP_LT_OQ);
    if (_mm512_mask_cmp_ps_mask(near, distance, _mm512_set1_ps(unsafe_distance_), _CMP_LT_OQ)) {
      next =
          _mm512_insertf32x8(_mm512_castps256_ps512(ExactNext(low, _mm512_castps512_ps256(index))),
                             ExactNext(high, _mm512_extractf32x8_ps(index, 1)), 1);
    }
    next = _mm512_max_ps(next, after);
    const __mmask16 stays = _mm512_mask_cmp_ps_mask(lanes, next, symbols, _CMP_LT_OQ);
    const auto low_stays = static_cast<__mmask8>(stays),
               high_stays = static_cast<__mmask8>(stays >> 8);
    _mm512_storeu_si512(state_ + left, _mm512_maskz_compress_epi64(low_stays, low));
    _mm512_storeu_si512(state_ + left + __builtin_popcount(low_stays),
                        _mm512_maskz_compress_epi64(high_stays, high));
    _mm512_storeu_si512(index_ + left, _mm512_cvttps_epi32(_mm512_maskz_compress_ps(stays, next)));
    _mm512_storeu_si512(slot_ + left, _mm512_maskz_compress_epi32(stays, slots));
    return left + static_cast<size_t>(__builtin_popcount(stays));
  }

  const float symbols_, unsafe_distance_;
  size_t count_ = 0;
  __m512i first_ids_ = _mm512_setzero_si512(), first_rest_ = _mm512_setzero_si512();
  // Of the keys that are within the symbols, side by side; stores go a vector beyond.
  alignas(64) uint64_t state_[kBlock + kLanes];
  alignas(64) uint32_t index_[kBlock + kLanes];
  alignas(64) uint32_t slot_[kBlock + kLanes];
  // Of all keys of the block.
  alignas(64) PackedRatelessCell key_[kBlock];
};

}  // namespace

void AddRatelessKeysByAvx512(const uint64_t* ids, size_t count, size_t symbols,
                             PackedRatelessCell* cells) {
  Block block(symbols);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t left = count - begin;
    for (block.Take(ids + begin, left < kBlock ? left : kBlock); !block.empty(); block.JumpAll()) {
      block.AddTo(cells);
    }
  }
  block.AddFirstTo(&cells[0]);
}

}  // namespace rocksieve
ROCKSIEVE_TARGET_END
#endif
