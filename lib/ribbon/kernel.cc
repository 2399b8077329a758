#include "lib/ribbon/kernel.h"

namespace rocksieve::ribbon {
namespace {

const Kernel& KernelFor(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kSse2:
      return kSse2Kernel;
    case Isa::kAvx2:
    case Isa::kAvx512:
      return CpuHasGfni() ? kGfniKernel : kSse2Kernel;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return kNeonKernel;
#endif
    default:
      return kPortableKernel;
  }
}

}  // namespace

std::vector<const Kernel*> UsableKernels() {
  std::vector<const Kernel*> kernels;
  for (Isa isa : UsableIsas()) {
    const Kernel* kernel = &KernelFor(isa);
    if (kernels.empty() || kernels.back() != kernel) kernels.push_back(kernel);
  }
  return kernels;
}

const Kernel& ActiveKernel() {
  static const Kernel& kernel = KernelFor(ActiveIsa());
  return kernel;
}

}  // namespace rocksieve::ribbon
