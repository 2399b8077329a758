// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/pinsketch/frobenius_kernel.h"

#include "lib/cpu/isa.h"

namespace rocksieve::pinsketch {

FrobeniusFunction ActiveFrobenius() {
#if defined(__x86_64__)
  static const bool usable = ActiveIsa() == Isa::kAvx512 && CpuHasVpclmulqdq();
  if (usable) return FrobeniusByAvx512;
#endif
  return nullptr;
}

}  // namespace rocksieve::pinsketch
