#include "lib/bloom/kernel.h"

namespace rocksieve::bloom {

const Kernel& KernelFor(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kSse2:
      return kSse2Kernel;
    case Isa::kAvx2:
      return kAvx2Kernel;
    case Isa::kAvx512:
      return kAvx512Kernel;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return kNeonKernel;
#endif
    default:
      return kPortableKernel;
  }
}

const Kernel& ActiveKernel() {
  static const Kernel& kernel = KernelFor(ActiveIsa());
  return kernel;
}

}  // namespace rocksieve::bloom
