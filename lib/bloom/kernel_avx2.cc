// SPDX-License-Identifier: Apache-2.0
// The kernel for AVX2: the eight words of a line are two vectors.
#if defined(__x86_64__)

#include <immintrin.h>

#include "lib/bloom/kernel.h"
#include "lib/cpu/isa.h"

ROCKSIEVE_TARGET_BEGIN("avx2,bmi,bmi2")
namespace rocksieve::bloom {
namespace {

__m256i LoadWords(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// The special word, which is the last of its half line, counts as set where it holds seeds.
__m256i NotProbeBits() { return _mm256_set_epi64x(kNotProbeBits, 0, 0, 0); }

// Four bytes to the shift counts of four words; only their low six bits count.
__m256i Counts(uint64_t four_bytes) {
  const uint64_t counts = four_bytes & kLowSixOfEachByte;
  return _mm256_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<long long>(counts)));
}

// What a key's group needs to find its turns: by how many bits the special word is shifted, so that
// its seeds come first in each byte, and the turn for each seed.
struct alignas(16) GroupTables {
  uint8_t shift[16];
  uint8_t turns[16];

  constexpr explicit GroupTables(int group) : shift(), turns() {
    shift[0] = shift[8] = static_cast<uint8_t>(group & 4);
    for (int i = 0; i < kSeeds; i++) turns[i] = static_cast<uint8_t>(i * group);
  }
};
constexpr GroupTables kGroupTables[kGroups] = {GroupTables(0), GroupTables(1), GroupTables(2),
                                               GroupTables(3), GroupTables(4), GroupTables(5),
                                               GroupTables(6), GroupTables(7)};

__m128i LoadSixteen(const uint8_t* from) {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(from));
}
__m128i Bytes(uint64_t eight_bytes) {
  return _mm_cvtsi64_si128(static_cast<long long>(eight_bytes));
}

// Turns() as a vector. By tables, since a query's time is the path from the special word to its
// answer, on which a multiplication and a move between registers of two kinds would stand.
__m128i TurnsOf(const uint8_t* line, uint32_t group) {
  const GroupTables& tables = kGroupTables[group];
  const __m128i special = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(line + 56));
  const __m128i seeds =
      _mm_and_si128(_mm_srlv_epi64(special, LoadSixteen(tables.shift)), Bytes(kSeedOfEachLane));
  return _mm_shuffle_epi8(LoadSixteen(tables.turns), seeds);
}

// The sums of eight positions and their turns, modulo 64.
__m128i Turned(uint64_t positions, __m128i turns) {
  return _mm_and_si128(_mm_add_epi8(Bytes(positions), turns), Bytes(kLowSixOfEachByte));
}

// The shift counts of the eight words of a line, from unturned positions and their turns.
struct LineCounts {
  __m256i low, high;

  LineCounts(uint64_t positions, __m128i turns) {
    const __m128i counts = Turned(positions, turns);
    low = _mm256_cvtepu8_epi64(counts);
    high = _mm256_cvtepu8_epi64(_mm_shuffle_epi32(counts, 1));
  }
};

// What the half line that takes four further probes needs: NotProbeBits() if it is the second, and
// where its four turns stand among the eight.
struct alignas(32) HalfTables {
  uint64_t not_probe_bits[4];
  uint8_t turns[16];

  constexpr explicit HalfTables(int half) : not_probe_bits(), turns() {
    if (half == 1) not_probe_bits[3] = kNotProbeBits;
    for (int i = 0; i < 16; i++) turns[i] = static_cast<uint8_t>(i < 4 ? 4 * half + i : 0x80);
  }
};
constexpr HalfTables kHalfTables[2] = {HalfTables(0), HalfTables(1)};

bool AllLowestBitsSet(__m256i words) {
  return _mm256_testc_si256(words, _mm256_set1_epi64x(1)) != 0;
}

template <int kProbes>
bool LineHas(const uint8_t* line, uint64_t hash) {
  const __m128i turns = TurnsOf(line, Group(hash));
  const __m256i low = LoadWords(line);
  if constexpr (kProbes < 8) {
    const LineCounts counts(LanePositions(hash), turns);
    const __m128i lanes = Bytes(ProbedLanes<kProbes>(hash) & kLowestOfEachByte);
    const __m256i high = _mm256_srlv_epi64(LoadWords(line + 32), counts.high);
    const __m256i unset = _mm256_or_si256(
        _mm256_andnot_si256(_mm256_srlv_epi64(low, counts.low), _mm256_cvtepu8_epi64(lanes)),
        _mm256_andnot_si256(high, _mm256_cvtepu8_epi64(_mm_shuffle_epi32(lanes, 1))));
    return _mm256_testz_si256(unset, unset) != 0;
  }
  const __m256i high = _mm256_or_si256(LoadWords(line + 32), NotProbeBits());
  const LineCounts counts(Positions(hash), turns);
  const __m256i tested =
      _mm256_and_si256(_mm256_srlv_epi64(low, counts.low), _mm256_srlv_epi64(high, counts.high));
  if constexpr (kProbes == 8) return AllLowestBitsSet(tested);
  if (!AllLowestBitsSet(tested)) return false;  // nearly all missing keys end here
  if constexpr (kProbes == 12) {
    const uint32_t half = Half(hash);
    const HalfTables& tables = kHalfTables[half];
    const __m256i words = _mm256_or_si256(LoadWords(line + 32 * half),
                                          LoadWords(reinterpret_cast<const uint8_t*>(&tables)));
    const __m128i extra =
        Turned(ExtraPositions12(hash), _mm_shuffle_epi8(turns, LoadSixteen(tables.turns)));
    return AllLowestBitsSet(_mm256_srlv_epi64(words, _mm256_cvtepu8_epi64(extra)));
  } else {
    const LineCounts extra(ExtraPositions16(hash), turns);
    return AllLowestBitsSet(
        _mm256_and_si256(_mm256_srlv_epi64(low, extra.low), _mm256_srlv_epi64(high, extra.high)));
  }
}

void OrInto(uint64_t* words, __m256i bits) {
  auto* to = reinterpret_cast<__m256i*>(words);
  _mm256_storeu_si256(to, _mm256_or_si256(_mm256_loadu_si256(to), bits));
}

// The bits at four positions, one in each of four words.
__m256i BitsAt(uint64_t four_bytes) {
  return _mm256_sllv_epi64(_mm256_set1_epi64x(1), Counts(four_bytes));
}

// The same of those words whose lowest bit is set in the second four bytes.
__m256i BitsAt(uint64_t four_bytes, uint64_t lowest_bits) {
  return _mm256_sllv_epi64(_mm256_cvtepu8_epi64(Bytes(lowest_bits)), Counts(four_bytes));
}

template <int kProbes>
void AddKey(uint64_t hash, uint64_t* words) {
  if constexpr (kProbes < 8) {
    const uint64_t positions = LanePositions(hash);
    const uint64_t lanes = ProbedLanes<kProbes>(hash) & kLowestOfEachByte;
    OrInto(words, BitsAt(positions, lanes));
    OrInto(words + 4, BitsAt(positions >> 32, lanes >> 32));
    return;
  }
  OrInto(words, BitsAt(Positions(hash)));
  OrInto(words + 4, BitsAt(Positions(hash) >> 32));
  if constexpr (kProbes == 12) {
    OrInto(words + 4 * Half(hash), BitsAt(ExtraPositions12(hash)));
  } else if constexpr (kProbes == 16) {
    OrInto(words, BitsAt(ExtraPositions16(hash)));
    OrInto(words + 4, BitsAt(ExtraPositions16(hash) >> 32));
  }
}

#include "lib/bloom/kernel_loops.h"

// Which byte comes to each place of words that are turned by 0 to 7 bytes.
struct alignas(32) ByteTurns {
  uint8_t from[8][32];

  constexpr ByteTurns() : from() {
    for (int i = 0; i < 8 * 32; i++) {
      from[i / 32][i % 32] = static_cast<uint8_t>((i & 8) | ((i - i / 32) & 7));
    }
  }
};
constexpr ByteTurns kByteTurns;

struct Vector {
  static constexpr int kLanes = 4;
  __m256i v;

  static Vector Load(const uint64_t* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
  }
  void Store(uint64_t* to) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }
  static Vector Splat(uint64_t x) { return {_mm256_set1_epi64x(static_cast<long long>(x))}; }
  static Vector Worst() { return Splat(0x7FFF); }  // ranks are compared as 16 bits, signed
  static Vector Or(Vector a, Vector b) { return {_mm256_or_si256(a.v, b.v)}; }
  static Vector RotateLeft(Vector a, int n) {
    if (n % 8 == 0) return {_mm256_shuffle_epi8(a.v, LoadWords(kByteTurns.from[n / 8]))};
    return {_mm256_or_si256(_mm256_slli_epi64(a.v, n), _mm256_srli_epi64(a.v, 64 - n))};
  }
  // A table of nibbles, and a sum of bytes.
  static Vector PopCount(Vector a) {
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i table =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i bytes = _mm256_add_epi8(
        _mm256_shuffle_epi8(table, _mm256_and_si256(a.v, low)),
        _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi64(a.v, 4), low)));
    return {_mm256_sad_epu8(bytes, _mm256_setzero_si256())};
  }
  static Vector Ranked(Vector a, int tag) {
    return {
        _mm256_or_si256(_mm256_slli_epi64(PopCount(a).v, 8), Splat(static_cast<uint64_t>(tag)).v)};
  }
  static Vector Min(Vector a, Vector b) { return {_mm256_min_epi16(a.v, b.v)}; }
  static Vector Max(Vector a, Vector b) { return {_mm256_max_epi16(a.v, b.v)}; }
};

#include "lib/bloom/choose_seeds.h"

}  // namespace

const Kernel kAvx2Kernel = {"avx2", QueriesFor, AddKeys, SeedChoiceFor};

}  // namespace rocksieve::bloom
ROCKSIEVE_TARGET_END

#endif
