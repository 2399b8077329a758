#include "bloom/kernel.h"

namespace rocksieve::bloom {

const Kernel& ActiveKernel() { return kPortableKernel; }

}  // namespace rocksieve::bloom
