#include "lib/cuckoo/kernel.h"

namespace rocksieve::cuckoo {

const Kernel& ActiveKernel() { return kPortableKernel; }

}  // namespace rocksieve::cuckoo
