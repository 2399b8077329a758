// SPDX-License-Identifier: Apache-2.0
// Compiles a region of a file for another instruction set than the rest of the program.
//
//   #include <everything>            // compiled for the baseline, whatever is included
//   ROCKSIEVE_TARGET_BEGIN("avx2")
//   namespace { ... }                // for AVX2
//   ROCKSIEVE_TARGET_END
//
// Compiler flags for whole files would be simpler, and wrong: inline functions of headers would
// then be compiled for AVX2 too, and the linker might keep these copies for the whole program.
#pragma once

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
