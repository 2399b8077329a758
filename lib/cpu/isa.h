// SPDX-License-Identifier: Apache-2.0
// Which instruction set the kernels use: chosen once per process, at run time, so that the binary
// needs no more than the baseline of its architecture.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace rocksieve {

enum class Isa { kPortable, kSse2, kAvx2, kAvx512, kNeon };

std::string_view IsaName(Isa isa);

// Those that were built for this architecture and that this processor has, the best last.
// kAvx2 stands for AVX2 with BMI1 and BMI2; kAvx512 for F, BW, VL, DQ, VPOPCNTDQ, VBMI and BITALG
// besides (Intel since Ice Lake, AMD since Zen 4).
std::vector<Isa> UsableIsas();

// The best usable one; or the one that the environment variable ROCKSIEVE_ISA names ("portable",
// "sse2", "avx2", "avx512", "neon"), for tests and comparisons. If that cannot be had, a message
// goes to stderr, and the best usable one is taken.
Isa ActiveIsa();

// Whether the processor has the bit matrix products of GFNI, a feature beside those above. It is
// only asked where kAvx2 is usable, which says that the vector registers are too. These three are
// defined for x86-64 only.
bool CpuHasGfni();

// Whether it has expansions of bytes in vectors of 64 bytes, likewise, where kAvx512 is usable.
bool CpuHasVbmi2();

// Whether it has products without carries in vectors of 64 bytes, likewise, where kAvx512 is
// usable.
bool CpuHasVpclmulqdq();

// A batch of queries looks at no key before the memory of all its keys is on its way: that hides the
// waiting where the filter is in no cache of the core. Where it is in one, there is nothing to hide,
// and to find each place twice or to keep it would make a batch slower than single queries. Then a
// batch is a loop of queries.

// Keys on their way at once. More than a core can have open, and as many as RocksDB asks at once.
inline constexpr size_t kKeysAhead = 32;
// As __builtin_prefetch() has it: into L2, to which more lines can be on their way than to L1.
inline constexpr int kAheadLocality = 2;

// Filters of fewer bytes are asked key after key. They fit into the smallest cache of a core, and
// where they are in none, little is waited for. docs/decisions/filters.md has the figures.
inline constexpr size_t kLeastBytesAhead = size_t{32} << 10;

}  // namespace rocksieve

// Compiles a region of a file for another instruction set than the rest of the program.
//
//   #include <everything>            // compiled for the baseline, whatever is included
//   ROCKSIEVE_TARGET_BEGIN("avx2")
//   namespace { ... }                // for AVX2
//   ROCKSIEVE_TARGET_END
//
// Compiler flags for whole files would be simpler, and wrong: inline functions of headers would
// then be compiled for AVX2 too, and the linker might keep these copies for the whole program.
#define ROCKSIEVE_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define ROCKSIEVE_TARGET_BEGIN(isa) \
  ROCKSIEVE_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define ROCKSIEVE_TARGET_END ROCKSIEVE_PRAGMA(clang attribute pop)
#else
#define ROCKSIEVE_TARGET_BEGIN(isa) \
  ROCKSIEVE_PRAGMA(GCC push_options) ROCKSIEVE_PRAGMA(GCC target(isa))
#define ROCKSIEVE_TARGET_END ROCKSIEVE_PRAGMA(GCC pop_options)
#endif
