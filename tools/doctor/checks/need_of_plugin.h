// Whether the database needs our plugin.
#pragma once

#include <string>

#include "tools/doctor/facts.h"

namespace rocksieve::tools {

// Where it says so: options now or before, or files. Empty if nowhere, or if a policy of RocksDB's
// own was named since.
std::string SignOfNeed(const Facts& facts);

}  // namespace rocksieve::tools
