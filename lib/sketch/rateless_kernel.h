// SPDX-License-Identifier: Apache-2.0
// The inner loop of rateless symbols: all keys into the first symbols at once. One implementation
// per instruction set, each in a file of its own (rateless_kernel_NAME.cc), with the same result.
//
// The keys of a block, whose data fit the first cache, jump in turns (RatelessMapping): those that
// are still within the symbols stand side by side, so that vectors are full of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/cpu/isa.h"

namespace rocksieve {

// A RatelessCell in two words, so that a key is added by one addition of 16 bytes.
struct alignas(16) PackedRatelessCell {
  uint64_t ids = 0;
  uint64_t checks_and_count = 0;  // checks in the upper half; the count must stay below 2^32
};

inline constexpr size_t kMostKernelSymbols = size_t{1} << 20;

struct RatelessKernel {
  const char* name;
  // Adds the keys with these ids to the symbols 0 .. symbols - 1; cells[symbols] is scratch.
  // REQUIRES: 1 <= symbols <= kMostKernelSymbols, count < 2^32.
  void (*add_keys)(const uint64_t* ids, size_t count, size_t symbols, PackedRatelessCell* cells);
};

extern const RatelessKernel kPortableRatelessKernel;
#if defined(__x86_64__)
extern const RatelessKernel kAvx512RatelessKernel;
#endif

// REQUIRES: isa is one of UsableIsas().
const RatelessKernel& RatelessKernelFor(Isa isa);

// That of ActiveIsa().
const RatelessKernel& ActiveRatelessKernel();

}  // namespace rocksieve
