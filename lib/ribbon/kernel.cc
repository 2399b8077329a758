#include "ribbon/kernel.h"

namespace rocksieve::ribbon {

const Kernel& ActiveKernel() { return kPortableKernel; }

}  // namespace rocksieve::ribbon
