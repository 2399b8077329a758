// The processor that runs this.
#pragma once

#include <string>

namespace rocksieve {

// Its name as the kernel has it; "unknown" if that does not say.
std::string ProcessorName();

}  // namespace rocksieve
