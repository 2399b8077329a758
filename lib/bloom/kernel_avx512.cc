// SPDX-License-Identifier: Apache-2.0
// The kernel for AVX-512: a line is one vector.
#if defined(__x86_64__)

// GCC takes the deliberately undefined values in its own AVX-512 header for mistakes (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "lib/bloom/kernel.h"
#include "lib/cpu/target.h"

ROCKSIEVE_TARGET_BEGIN(
    "avx2,bmi,bmi2,avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx512vbmi")
namespace rocksieve::bloom {
namespace {

// The bits at eight positions, one in each word. Rotating takes positions modulo 64 by itself.
__m512i BitsAt(uint64_t eight_bytes) {
  return _mm512_rolv_epi64(
      _mm512_set1_epi64(1),
      _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<long long>(eight_bytes))));
}

// What a key's group needs to find its turns: where in the special word its seeds stand, and the
// turn for each seed.
struct alignas(64) GroupTables {
  uint8_t seed_bits[64];  // of word i, the low byte counts: the bit of lane i's seed
  uint8_t turns[64];      // four times the turns for 16 seeds

  constexpr explicit GroupTables(int group) : seed_bits(), turns() {
    for (int i = 0; i < 8; i++) seed_bits[8 * i] = static_cast<uint8_t>(8 * i + (group & 4));
    for (int i = 0; i < 64; i++) turns[i] = static_cast<uint8_t>(i % kSeeds * group);
  }
};
constexpr GroupTables kGroupTables[kGroups] = {GroupTables(0), GroupTables(1), GroupTables(2),
                                               GroupTables(3), GroupTables(4), GroupTables(5),
                                               GroupTables(6), GroupTables(7)};

// The turn of each lane in the low byte of its word; the other bytes mean nothing. By tables, since
// a query's time is the path from the special word to its answer, on which a multiplication and a
// move between registers of two kinds would stand. Lane 7 has no seed, and a turn of 0.
__m512i TurnsOf(const uint8_t* line, uint32_t group) {
  const GroupTables& tables = kGroupTables[group];
  const __m512i special = _mm512_set1_epi64(static_cast<long long>(Word(line, 7)));
  const __m512i seeds =
      _mm512_and_si512(_mm512_multishift_epi64_epi8(_mm512_load_si512(tables.seed_bits), special),
                       _mm512_set_epi64(0, 15, 15, 15, 15, 15, 15, 15));
  return _mm512_shuffle_epi8(_mm512_load_si512(tables.turns), seeds);
}

// The bits at eight positions after a turn of each.
__m512i TurnedBitsAt(uint64_t eight_bytes, __m512i turns) {
  const __m512i positions =
      _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<long long>(eight_bytes)));
  return _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_add_epi8(positions, turns));
}

// The positions of four probes in the upper or lower half of a line, and no bit in the other half.
__m512i BitsOfHalf(uint64_t four_bytes, uint32_t half) {
  const uint64_t eight_bytes = (four_bytes & 0xFFFFFFFF) << (32 * half);
  return _mm512_maskz_mov_epi64(static_cast<__mmask8>(0x0F << (4 * half)), BitsAt(eight_bytes));
}

template <int kProbes>
bool LineHas(const uint8_t* line, uint64_t hash) {
  const __m512i turns = TurnsOf(line, Group(hash));
  // The seeds of the special word count as set.
  const __m512i words = _mm512_or_si512(_mm512_loadu_si512(line),
                                        _mm512_set_epi64(kNotProbeBits, 0, 0, 0, 0, 0, 0, 0));
  const bool all = _mm512_testn_epi64_mask(words, TurnedBitsAt(Positions(hash), turns)) == 0;
  if constexpr (kProbes == 8) return all;  // each word has its one bit
  if (!all) return false;                  // nearly all missing keys
  if constexpr (kProbes == 12) {
    const auto half = static_cast<__mmask8>(0x0F << (4 * Half(hash)));
    const uint64_t four_bytes = ExtraPositions12(hash);
    const __m512i bits = TurnedBitsAt(four_bytes | four_bytes << 32, turns);
    return _mm512_mask_testn_epi64_mask(half, words, bits) == 0;
  } else {
    return _mm512_testn_epi64_mask(words, TurnedBitsAt(ExtraPositions16(hash), turns)) == 0;
  }
}

#include "lib/bloom/query_loop.h"

template <int kProbes>
void AddKeysOf(const uint64_t* hashes, size_t count, uint64_t line_count, uint64_t first_line,
               LineMasks* masks) {
  for (size_t i = 0; i < count; i++) {
    const uint64_t hash = hashes[i];
    uint64_t* words = masks[LineIndex(hash, line_count) - first_line][Group(hash)];
    __m512i bits = BitsAt(Positions(hash));
    if constexpr (kProbes == 12) {
      bits = _mm512_or_si512(bits, BitsOfHalf(ExtraPositions12(hash), Half(hash)));
    } else if constexpr (kProbes == 16) {
      bits = _mm512_or_si512(bits, BitsAt(ExtraPositions16(hash)));
    }
    _mm512_storeu_si512(words, _mm512_or_si512(_mm512_loadu_si512(words), bits));
  }
}

struct Vector {
  static constexpr int kLanes = 8;
  __m512i v;

  static Vector Load(const uint64_t* from) { return {_mm512_loadu_si512(from)}; }
  void Store(uint64_t* to) const { _mm512_storeu_si512(to, v); }
  static Vector Splat(uint64_t x) { return {_mm512_set1_epi64(static_cast<long long>(x))}; }
  static Vector Worst() { return Splat(0x7FFF); }  // ranks are compared as 16 bits, signed
  static Vector Or(Vector a, Vector b) { return {_mm512_or_si512(a.v, b.v)}; }
  static Vector RotateLeft(Vector a, int n) {
    return {_mm512_rolv_epi64(a.v, _mm512_set1_epi64(n))};
  }
  static Vector PopCount(Vector a) { return {_mm512_popcnt_epi64(a.v)}; }
  static Vector Ranked(Vector a, int tag) {
    return {
        _mm512_or_si512(_mm512_slli_epi64(PopCount(a).v, 8), Splat(static_cast<uint64_t>(tag)).v)};
  }
  static Vector WithTag(Vector rank, Vector tag) { return Or(rank, tag); }
  static Vector Min(Vector a, Vector b) { return {_mm512_min_epi16(a.v, b.v)}; }
  static Vector Max(Vector a, Vector b) { return {_mm512_max_epi16(a.v, b.v)}; }
};

#include "lib/bloom/choose_seeds.h"

}  // namespace

const Kernel kAvx512Kernel = {"avx512", WideQueriesFor<QueriesOf<8>, QueriesOf<12>, QueriesOf<16>>,
                              WideAddKeys<AddKeysOf<8>, AddKeysOf<12>, AddKeysOf<16>>,
                              ChooseSeeds<kUsualBeam>, ChooseSeeds<kThoroughBeam>};

}  // namespace rocksieve::bloom
ROCKSIEVE_TARGET_END

#endif
