// Whether the RocksDB in this process is the one that the plugin was built for.
#pragma once

#include <string>

namespace rocksieve {

// Empty if it is; else a sentence that names both releases and the remedy.
std::string RocksDbVersionMismatch();

}  // namespace rocksieve
