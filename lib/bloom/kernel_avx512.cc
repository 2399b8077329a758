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
#include "lib/cpu/isa.h"

ROCKSIEVE_TARGET_BEGIN(
    "avx2,bmi,bmi2,avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx512vbmi,avx512bitalg")
namespace rocksieve::bloom {
namespace {

__m128i Bytes(uint64_t eight_bytes) {
  return _mm_cvtsi64_si128(static_cast<long long>(eight_bytes));
}

// The bits at eight positions, one in each word. Rotating takes positions modulo 64 by itself.
__m512i BitsAt(uint64_t eight_bytes) {
  return _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_cvtepu8_epi64(Bytes(eight_bytes)));
}

// What a key's group needs to find its turns: where in the special word its seeds stand, and the
// turn for each seed.
struct alignas(64) GroupTables {
  uint8_t seed_bits[64];  // in each byte of word i: the bit of lane i's seed
  uint8_t turns[64];      // four times the turns for 16 seeds

  constexpr explicit GroupTables(int group) : seed_bits(), turns() {
    for (int i = 0; i < 64; i++) {
      seed_bits[i] = static_cast<uint8_t>(8 * (i / 8) + (group & 4));
      turns[i] = static_cast<uint8_t>(i % kSeeds * group);
    }
  }
};
constexpr GroupTables kGroupTables[kGroups] = {GroupTables(0), GroupTables(1), GroupTables(2),
                                               GroupTables(3), GroupTables(4), GroupTables(5),
                                               GroupTables(6), GroupTables(7)};

// The turn of each lane, in each byte of its word. By tables, since a query's time is the path from
// the special word to its answer, on which a multiplication and a move between registers of two
// kinds would stand. Lane 7 has no seed, and a turn of 0.
__m512i TurnsOf(const uint8_t* line, uint32_t group) {
  constexpr long long kSeedOfEachByte = 0x0F0F0F0F0F0F0F0F;
  const GroupTables& tables = kGroupTables[group];
  const __m512i special = _mm512_set1_epi64(static_cast<long long>(Word(line, 7)));
  const __m512i seeds = _mm512_and_si512(
      _mm512_multishift_epi64_epi8(_mm512_load_si512(tables.seed_bits), special),
      _mm512_set_epi64(0, kSeedOfEachByte, kSeedOfEachByte, kSeedOfEachByte, kSeedOfEachByte,
                       kSeedOfEachByte, kSeedOfEachByte, kSeedOfEachByte));
  return _mm512_shuffle_epi8(_mm512_load_si512(tables.turns), seeds);
}

// Which of sixteen positions, eight first and eight further ones, each byte of the words tests: the
// first one of its word, or in every other byte of the words from first_word to last_word a further
// one.
struct alignas(64) TestedPositions {
  uint8_t of_byte[64];

  constexpr TestedPositions(int first_word, int last_word, int first_further) : of_byte() {
    for (int i = 0; i < 64; i++) {
      const int word = i / 8;
      const bool is_further = i % 2 != 0 && first_word <= word && word <= last_word;
      of_byte[i] = static_cast<uint8_t>(is_further ? first_further + word - first_word : word);
    }
  }
};
constexpr TestedPositions kTested8(0, -1, 8), kTested16(0, 7, 8);
// By the half that takes further probes, whose positions are the upper bytes of a product.
constexpr TestedPositions kTested12[2] = {TestedPositions(0, 3, 12), TestedPositions(4, 7, 12)};

__m512i TestedPositionsAt(const TestedPositions& tested, __m128i sixteen) {
  return _mm512_permutexvar_epi8(_mm512_load_si512(tested.of_byte),
                                 _mm512_castsi128_si512(sixteen));
}

// The unturned positions that each byte of the words tests.
template <int kProbes>
__m512i TestedPositionsOf(uint64_t hash) {
  const auto positions = static_cast<long long>(Positions(hash));
  __m128i sixteen = Bytes(Positions(hash));
  const TestedPositions* tested = &kTested8;
  if constexpr (kProbes == 12) {
    sixteen = _mm_set_epi64x(static_cast<long long>(hash * kExtraPositionFactor), positions);
    tested = &kTested12[Half(hash)];
  } else if constexpr (kProbes == 16) {
    sixteen = _mm_set_epi64x(static_cast<long long>(ExtraPositions16(hash)), positions);
    tested = &kTested16;
  }
  return TestedPositionsAt(*tested, sixteen);
}

// The positions of four probes in the upper or lower half of a line, and no bit in the other half.
__m512i BitsOfHalf(uint64_t four_bytes, uint32_t half) {
  const uint64_t eight_bytes = (four_bytes & 0xFFFFFFFF) << (32 * half);
  return _mm512_maskz_mov_epi64(static_cast<__mmask8>(0x0F << (4 * half)), BitsAt(eight_bytes));
}

// Whether each byte of the words finds the bit set that it tests: that at its low six bits.
bool AllSet(__m512i words, __m512i tested) {
  return _mm512_bitshuffle_epi64_mask(words, tested) == ~uint64_t{0};
}

template <int kProbes>
bool LineHas(const uint8_t* line, uint64_t hash) {
  const __m512i turns = TurnsOf(line, Group(hash));
  if constexpr (kProbes < 8) {
    const __m512i tested =
        _mm512_add_epi8(TestedPositionsAt(kTested8, Bytes(LanePositions(hash))), turns);
    const uint64_t lanes = ProbedLanes<kProbes>(hash);
    return (_mm512_bitshuffle_epi64_mask(_mm512_loadu_si512(line), tested) & lanes) == lanes;
  }
  // The seeds of the special word count as set.
  const __m512i words = _mm512_or_si512(_mm512_loadu_si512(line),
                                        _mm512_set_epi64(kNotProbeBits, 0, 0, 0, 0, 0, 0, 0));
  const bool has_first_eight = AllSet(words, _mm512_add_epi8(TestedPositionsOf<8>(hash), turns));
  if constexpr (kProbes == 8) return has_first_eight;
  if (!has_first_eight) return false;  // nearly all absent keys end here
  return AllSet(words, _mm512_add_epi8(TestedPositionsOf<kProbes>(hash), turns));
}

template <int kProbes>
void AddKey(uint64_t hash, uint64_t* words) {
  __m512i bits;
  if constexpr (kProbes < 8) {
    constexpr uint32_t kProbed = (1 << kProbes) - 1;
    const uint32_t lanes = kProbed << FirstLane(hash);
    bits = _mm512_maskz_mov_epi64(static_cast<__mmask8>((lanes | lanes >> kLanes) & 0x7F),
                                  BitsAt(LanePositions(hash)));
  } else {
    bits = BitsAt(Positions(hash));
  }
  if constexpr (kProbes == 12) {
    bits = _mm512_or_si512(bits, BitsOfHalf(ExtraPositions12(hash), Half(hash)));
  } else if constexpr (kProbes == 16) {
    bits = _mm512_or_si512(bits, BitsAt(ExtraPositions16(hash)));
  }
  _mm512_storeu_si512(words, _mm512_or_si512(_mm512_loadu_si512(words), bits));
}

#include "lib/bloom/kernel_loops.h"

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
  static Vector Min(Vector a, Vector b) { return {_mm512_min_epi16(a.v, b.v)}; }
  static Vector Max(Vector a, Vector b) { return {_mm512_max_epi16(a.v, b.v)}; }
};

#include "lib/bloom/choose_seeds.h"

// AVX2 answers one query of 8 probes sooner, and AVX-512 many.
Queries BestQueriesFor(int probes) {
  const Queries own = QueriesFor(probes);
  return probes == 8 ? Queries{kAvx2Kernel.queries_for(8).one, own.many} : own;
}

}  // namespace

const Kernel kAvx512Kernel = {"avx512", BestQueriesFor, AddKeys, SeedChoiceFor};

}  // namespace rocksieve::bloom
ROCKSIEVE_TARGET_END

#endif
