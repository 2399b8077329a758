// SPDX-License-Identifier: Apache-2.0
// The kernel for any machine: plain C++, either byte order. And the choice among all of them.
#include "lib/format/coding.h"
#include "lib/range/kernel.h"

namespace rocksieve::range {
namespace {

// Sums in ever wider fields (Warren, "Hacker's Delight", 2nd ed., 5-1): without an instruction for
// it, compilers call a function.
uint64_t CountOnes(uint64_t word) {
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return word * 0x0101010101010101 >> 56;
}

#include "lib/range/first_from.inc"

}  // namespace

const Kernel kPortableKernel = {Isa::kPortable, FirstFromOf};

std::vector<Kernel> UsableKernels() {
  std::vector<Kernel> kernels = {kPortableKernel};
#if defined(__x86_64__)
  for (const Isa isa : UsableIsas()) {
    if (isa == Isa::kAvx2) kernels.push_back(kBmi2Kernel);
  }
#endif
  return kernels;
}

const Kernel& ActiveKernel() {
  static const Kernel kernel = [] {
    const Isa active = ActiveIsa();
    Kernel best = kPortableKernel;
    for (const Kernel& usable : UsableKernels()) {
      // AVX-512 brings what AVX2 does.
      if (usable.isa == active || active == Isa::kAvx512) best = usable;
    }
    return best;
  }();
  return kernel;
}

}  // namespace rocksieve::range
