#include "plugin/rocksdb_version.h"

#include <rocksdb/version.h>

namespace rocksieve {

std::string RocksDbVersionMismatch() {
  const std::string built_for =
      std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + ".";
  const std::string loaded = rocksdb::GetRocksVersionAsString(/*with_patch=*/true);
  if (loaded.compare(0, built_for.size(), built_for) == 0) return "";
  return "rocksieve: this plugin was built for RocksDB " + built_for +
         "x, but the RocksDB in this process is " + loaded +
         ". It registers nothing, since the two might not fit together; build rocksieve against "
         "RocksDB " +
         loaded + ", or run the program with RocksDB " + built_for + "x.";
}

}  // namespace rocksieve
