// SPDX-License-Identifier: Apache-2.0
// The kernel for AVX-512 with VBMI2 and GFNI (Intel since Ice Lake, AMD since Zen 4): builds. A
// plane of 64 rows is one vector, and what they add of the equations of a group one instruction.
// Queries are those of the kernel for GFNI.
#if defined(__x86_64__)

// GCC takes the deliberately undefined values in its own AVX-512 header for mistakes (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include "lib/cpu/isa.h"
#include "lib/ribbon/kernel.h"

ROCKSIEVE_TARGET_BEGIN(
    "avx2,bmi,bmi2,lzcnt,popcnt,gfni,avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi,avx512vbmi2")
namespace rocksieve::ribbon {
namespace {

// Sorting.

// The hashes at i and behind; zeros behind the last.
__m512i HashesAt(Span<const uint64_t> hashes, size_t i) {
  const size_t left = hashes.size() - i;
  return _mm512_maskz_loadu_epi64(static_cast<__mmask8>(left >= 8 ? 0xFF : (1 << left) - 1),
                                  hashes.data() + i);
}

// Byte kByte of eight words.
template <int kByte>
__m128i BytesOf(__m512i words) {
  return _mm512_cvtepi64_epi8(_mm512_srli_epi64(words, 8 * kByte));
}

void StoreEight(uint8_t* to, __m128i bytes) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
}

// As class Row has them.
void WriteRows(uint64_t groups, int result_bytes, size_t count, SortedRows* rows) {
  const __m512i row_factor = _mm512_set1_epi64(static_cast<long long>(kRowFactor + 2 * groups));
  const __m512i fingerprint_factor = _mm512_set1_epi64(static_cast<long long>(kFingerprintFactor));
  for (size_t i = 0; i < count; i += 8) {
    const __m512i hashes = _mm512_loadu_si512(rows->hashes + i);
    const __m512i product = _mm512_mullo_epi64(hashes, row_factor);
    const __m512i fingerprints = _mm512_mullo_epi64(hashes, fingerprint_factor);
    StoreEight(rows->selected[0] + i, BytesOf<4>(product));
    StoreEight(rows->selected[1] + i, BytesOf<5>(product));
    const __m128i third = BytesOf<6>(product);
    const __m128i distance = _mm_srli_epi16(BytesOf<3>(product), 6);
    for (int d = 0; d < 4; d++) {
      const __m128i is_there = _mm_cmpeq_epi8(_mm_and_si128(distance, _mm_set1_epi8(3)),
                                              _mm_set1_epi8(static_cast<char>(d)));
      StoreEight(rows->selected[4 + d] + i, _mm_and_si128(third, is_there));
    }
    StoreEight(rows->results[0] + i, BytesOf<4>(fingerprints));
    if (result_bytes > 1) StoreEight(rows->results[1] + i, BytesOf<5>(fingerprints));
    if (result_bytes > 2) {
      StoreEight(rows->results[2] + i, BytesOf<6>(fingerprints));
      StoreEight(rows->results[3] + i, BytesOf<7>(fingerprints));
    }
  }
}

// Counting sort. The place of each row among those of its group is known after the first pass, so
// that no store of the second one waits for another.
void Sort(Span<const uint64_t> hashes, uint64_t groups, int result_bytes, SortedRows* rows) {
  const size_t count = hashes.size();
  const __m512i row_factor = _mm512_set1_epi64(static_cast<long long>(kRowFactor + 2 * groups));
  const __m512i all_groups = _mm512_set1_epi64(static_cast<long long>(groups));
  for (size_t i = 0; i < count; i += 8) {
    const __m512i product = _mm512_mullo_epi64(HashesAt(hashes, i), row_factor);
    const __m512i first_groups =
        _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(product, 32), all_groups), 32);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rows->group + i),
                     _mm512_cvtepi64_epi16(first_groups));
  }
  uint16_t* const begin = rows->begin_of_group;
  uint16_t place[SortedRows::kCapacity];
  for (uint64_t g = 0; g <= groups; g++) begin[g] = 0;
  for (size_t i = 0; i < count; i++) place[i] = begin[rows->group[i] + 1]++;
  for (uint64_t g = 0; g < groups; g++) {
    begin[g + 1] = static_cast<uint16_t>(begin[g + 1] + begin[g]);
  }
  for (size_t i = 0; i < count; i++) rows->hashes[begin[rows->group[i]] + place[i]] = hashes[i];
  WriteRows(groups, result_bytes, count, rows);
}

// Matrices of 8 x 8 bits. As an operand of a product, a word has the row that makes bit i in its
// byte 7 - i. Where a number of matrices are in one vector, it is called by its words.

constexpr long long kBitIOfByteI = static_cast<long long>(0x8040201008040201);
constexpr long long kIdentity = 0x0102040810204080;

__m512i Product(__m512i bytes, __m512i matrices) {
  return _mm512_gf2p8affine_epi64_epi8(bytes, matrices, 0);
}

__m512i Transposed(__m512i matrices) { return Product(_mm512_set1_epi64(kIdentity), matrices); }

// One word of a vector, eight times.
template <int kWord>
__m512i WordOf(__m512i words) {
  return _mm512_permutexvar_epi64(_mm512_set1_epi64(kWord), words);
}

// Where a transposition of eight words of eight bytes takes its bytes from: the bytes i of the
// words become word i.
struct ByteTransposition {
  constexpr explicit ByteTransposition(bool last_first) {
    for (int i = 0; i < 64; i++) {
      const int word = last_first ? 7 - i % 8 : i % 8;
      from[i] = static_cast<uint8_t>(8 * word + i / 8);
    }
  }
  alignas(64) uint8_t from[64] = {};
};
constexpr ByteTransposition kFirstFirst(false), kLastFirst(true);

__m512i BytesTransposed(__m512i words, const ByteTransposition& transposition) {
  return _mm512_permutexvar_epi8(_mm512_load_si512(transposition.from), words);
}

// Elimination.

// Gauss-Jordan elimination of 64 rows of eight bits, of which words[i] has bit i of all. In place:
// in the end it has the rows to which the row of slot i was added. pivots[i] is that row, as the
// bit of its place, or 0 if there is none.
[[gnu::always_inline]] inline uint64_t Eliminate8(uint64_t* words, uint64_t* pivots) {
  uint64_t all = 0;
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    const uint64_t candidates = words[i] & ~all;
    const uint64_t pivot = candidates & (0 - candidates);
    const uint64_t others = words[i] ^ pivot;
    pivots[i] = pivot;
    all |= pivot;
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
      if (j == i) continue;
      const uint64_t sum = words[j] ^ others;
      words[j] = (words[j] & pivot) != 0 ? sum : words[j];
    }
  }
  return all;
}

__m512i Vector(const uint64_t* words) {
  return _mm512_set_epi64(static_cast<long long>(words[7]), static_cast<long long>(words[6]),
                          static_cast<long long>(words[5]), static_cast<long long>(words[4]),
                          static_cast<long long>(words[3]), static_cast<long long>(words[2]),
                          static_cast<long long>(words[1]), static_cast<long long>(words[0]));
}

// The rows on their way, in registers. Place p of a plane is bit p ^ 7 of Eliminate8(), since
// products reverse the bits of bytes.
template <int kResultBytes>
struct Rows {
  __m512i selected[kGroupsPerRow];
  __m512i results[kResultBytes];
  uint64_t places;

  [[gnu::always_inline]] void Load(const PendingRows& from) {
    for (int j = 0; j < kGroupsPerRow; j++) selected[j] = _mm512_load_si512(from.selected[j]);
    for (int j = 0; j < kResultBytes; j++) results[j] = _mm512_load_si512(from.results[j]);
    places = from.places_with_rows;
  }

  [[gnu::always_inline]] void Store(PendingRows* to) const {
    for (int j = 0; j < kGroupsPerRow; j++) _mm512_store_si512(to->selected[j], selected[j]);
    for (int j = 0; j < kResultBytes; j++) _mm512_store_si512(to->results[j], results[j]);
    to->places_with_rows = places;
  }

  // Puts the rows of a group into free places; false if there are not enough of these.
  [[gnu::always_inline]] bool Add(const SortedRows& rows, uint64_t group) {
    const size_t first = rows.begin_of_group[group];
    const size_t count = rows.begin_of_group[group + 1] - first;
    if (count > static_cast<size_t>(__builtin_popcountll(~places))) return false;
    const uint64_t taken =
        _pdep_u64(_bzhi_u64(~uint64_t{0}, static_cast<uint32_t>(count)), ~places);
    places |= taken;
#pragma GCC unroll 8
    for (int j = 0; j < kGroupsPerRow; j++) {
      if ((j == 2 || j == 3) && !rows.folded) continue;
      selected[j] =
          _mm512_mask_expand_epi8(selected[j], taken, _mm512_loadu_si512(rows.selected[j] + first));
    }
    for (int j = 0; j < kResultBytes; j++) {
      results[j] =
          _mm512_mask_expand_epi8(results[j], taken, _mm512_loadu_si512(rows.results[j] + first));
    }
    return true;
  }

  // Takes the equations of the group out and goes on to the next group.
  template <bool kKeep>
  [[gnu::always_inline]] void Step(GroupEquations* equations, uint64_t* more_results) {
    const __m512i bit_i = _mm512_set1_epi64(kBitIOfByteI);
    const __m512i in_group = selected[0];
    alignas(64) uint64_t words[8];
    uint64_t pivots[8];
    _mm512_store_si512(words, BytesTransposed(Product(bit_i, in_group), kFirstFirst));
    const uint64_t all = Eliminate8(words, pivots);
    // The places of the pivots, from the last slot to the first, in each word; 63 - them.
    const __m512i zeros = _mm512_lzcnt_epi64(Vector(pivots));
    const __m512i minus_places =
        _mm512_permutexvar_epi8(_mm512_set1_epi64(0x0008101820283038), zeros);
    uint64_t slots = ~uint64_t{0};  // those with a pivot, as bytes of a matrix
    if (__builtin_expect(static_cast<int>(__builtin_popcountll(all) < kSlotsPerGroup), 0)) {
#pragma GCC unroll 8
      for (int i = 0; i < 8; i++) {
        if (pivots[i] != 0) continue;
        words[i] = 0;
        slots &= ~(uint64_t{0x0101010101010101} << (7 - i));
      }
    }
    // Row k: what makes the equation of slot k of the eight rows. The inverse of what these select.
    const __m512i inverse =
        _mm512_maskz_permutexvar_epi8(slots, _mm512_xor_si512(minus_places, _mm512_set1_epi8(63)),
                                      Product(bit_i, BytesTransposed(Vector(words), kLastFirst)));
    // Likewise what they select in the groups behind, and their results.
    const long long even = 0x3838383838383838, odd = 0x7878787878787878;  // of another plane
    const __m512i from = _mm512_xor_si512(
        minus_places, _mm512_set_epi64(odd, even, odd, even, odd, even, odd, even));
    const __m512i eight_rows = _mm512_ternarylogic_epi64(
        _mm512_or_si512(TwoPlanes(slots, 0, selected[1], from, selected[2]),
                        TwoPlanes(slots, 1, selected[3], from, selected[4])),
        TwoPlanes(slots, 2, selected[5], from, selected[6]),
        TwoPlanes(slots, 3, selected[7], from, results[0]), 0xFE);
    const __m512i rows_transposed = Transposed(eight_rows);
    if (kKeep) _mm512_store_si512(equations, Product(inverse, rows_transposed));
    // The transposed matrices of the equations.
    const __m512i added = Product(rows_transposed, inverse);
    Advance<0>(in_group, added), Advance<1>(in_group, added), Advance<2>(in_group, added);
    Advance<3>(in_group, added), Advance<4>(in_group, added), Advance<5>(in_group, added);
    Advance<6>(in_group, added);
    selected[7] = _mm512_setzero_si512();
    results[0] = _mm512_xor_si512(results[0], Product(in_group, WordOf<7>(added)));
    if constexpr (kResultBytes > 1) {
      __m512i eight_results = _mm512_maskz_permutexvar_epi8(slots & 0xFF, from, results[1]);
      if constexpr (kResultBytes == 4) {
        eight_results = _mm512_ternarylogic_epi64(
            eight_results, _mm512_maskz_permutexvar_epi8(slots & 0xFF00, from, results[2]),
            _mm512_maskz_permutexvar_epi8(slots & 0xFF0000, from, results[3]), 0xFE);
      }
      const __m512i results_transposed = Transposed(eight_results);
      if (kKeep) {
        _mm512_mask_storeu_epi64(more_results, static_cast<__mmask8>((1 << (kResultBytes - 1)) - 1),
                                 Product(inverse, results_transposed));
      }
      const __m512i more = Product(results_transposed, inverse);
      results[1] = _mm512_xor_si512(results[1], Product(in_group, WordOf<0>(more)));
      if constexpr (kResultBytes == 4) {
        results[2] = _mm512_xor_si512(results[2], Product(in_group, WordOf<1>(more)));
        results[3] = _mm512_xor_si512(results[3], Product(in_group, WordOf<2>(more)));
      }
    }
    places &= ~static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_gf2p8affine_epi64_epi8(
        _mm_cvtsi64_si128(static_cast<long long>(all)), _mm_set1_epi64x(kBitIOfByteI), 0)));
  }

 private:
  // The bytes of the eight rows, of one plane as word 2 * pair and of the other as the next.
  [[gnu::always_inline]] static __m512i TwoPlanes(uint64_t slots, int pair, __m512i a, __m512i from,
                                                  __m512i b) {
    return _mm512_maskz_permutex2var_epi8(slots & (uint64_t{0xFFFF} << (16 * pair)), a, from, b);
  }

  template <int kBehind>
  [[gnu::always_inline]] void Advance(__m512i in_group, __m512i added) {
    selected[kBehind] =
        _mm512_xor_si512(selected[kBehind + 1], Product(in_group, WordOf<kBehind>(added)));
  }
};

template <int kResultBytes>
bool EliminateBucket(const SortedRows& sorted, uint64_t groups, const PendingRows& before,
                     PendingRows* after, GroupEquations* equations, uint64_t* more_results) {
  Rows<kResultBytes> rows;
  rows.Load(before);
  for (uint64_t group = 0; group < groups; group++) {
    if (!rows.Add(sorted, group)) return false;
    rows.template Step<true>(equations + group, more_results + group * (kResultBytes - 1));
  }
  rows.Store(after);
  // Those that are left select slots of seven groups only. They are independent if each of them can
  // have one of these.
  for (int group = 1; group < kGroupsPerRow && rows.places != 0; group++) {
    rows.template Step<false>(nullptr, nullptr);
  }
  return rows.places == 0;
}

bool Eliminate(const SortedRows& rows, uint64_t groups, int result_bytes, const PendingRows& before,
               PendingRows* after, GroupEquations* equations, uint64_t* more_results) {
  switch (result_bytes) {
    case 1:
      return EliminateBucket<1>(rows, groups, before, after, equations, more_results);
    case 2:
      return EliminateBucket<2>(rows, groups, before, after, equations, more_results);
    default:
      return EliminateBucket<4>(rows, groups, before, after, equations, more_results);
  }
}

// Back substitution: 32 columns, each a byte with the bits of eight slots.

__m256i Product(__m256i bytes, uint64_t matrix) {
  __m256i matrices = _mm256_set1_epi64x(static_cast<long long>(matrix));
  asm("" : "+v"(matrices));  // in a register: clang 14 reads it from a wrong address of memory
  return _mm256_gf2p8affine_epi64_epi8(bytes, matrices, 0);
}

template <int kResultBytes>
void SolveGroups(const GroupEquations* equations, const uint64_t* more_results,
                 const GroupLayout& layout, uint8_t* group_bytes) {
  __m256i behind[kGroupsPerRow - 1];
#pragma GCC unroll 8
  for (__m256i& group : behind) group = _mm256_setzero_si256();
  for (uint64_t group = layout.groups; group-- > 0;) {
    const GroupEquations& from = equations[group];
    const uint64_t* more = more_results + group * (kResultBytes - 1);
    const __m256i results =
        _mm256_set_epi64x(kResultBytes > 2 ? static_cast<long long>(more[2]) : 0,
                          kResultBytes > 2 ? static_cast<long long>(more[1]) : 0,
                          kResultBytes > 1 ? static_cast<long long>(more[0]) : 0,
                          static_cast<long long>(from.results));
    // The products with 1, 2, 4 .. 128 are the columns of the matrix.
    __m256i sum = _mm256_gf2p8affine_epi64_epi8(_mm256_set1_epi64x(kBitIOfByteI), results, 0);
#pragma GCC unroll 8
    for (int j = kGroupsPerRow - 2; j >= 0; j--) {
      sum = _mm256_xor_si256(sum, Product(behind[j], from.selected[j]));
    }
    const int columns = layout.columns + (group >= layout.first_wide_group ? 1 : 0);
    _mm256_mask_storeu_epi8(group_bytes + layout.Byte(group),
                            static_cast<__mmask32>(_bzhi_u32(~0u, static_cast<uint32_t>(columns))),
                            sum);
#pragma GCC unroll 8
    for (int j = kGroupsPerRow - 2; j > 0; j--) behind[j] = behind[j - 1];
    behind[0] = sum;
  }
}

void Solve(const GroupEquations* equations, const uint64_t* more_results, int result_bytes,
           const GroupLayout& layout, uint8_t* group_bytes) {
  switch (result_bytes) {
    case 1:
      return SolveGroups<1>(equations, more_results, layout, group_bytes);
    case 2:
      return SolveGroups<2>(equations, more_results, layout, group_bytes);
    default:
      return SolveGroups<4>(equations, more_results, layout, group_bytes);
  }
}

Queries QueriesFor(const Table& table) { return kGfniKernel.queries_for(table); }

constexpr BlockFunctions kBlockFunctions = {Sort, Eliminate, Solve};

}  // namespace

const Kernel kAvx512Kernel = {"avx512", QueriesFor, nullptr, &kBlockFunctions};

}  // namespace rocksieve::ribbon
ROCKSIEVE_TARGET_END

#endif
