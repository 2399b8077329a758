// unsupported-rocksdb.
#include <rocksdb/version.h>

#include "tools/doctor/checks.h"
#include "tools/doctor/checks/need_of_plugin.h"

namespace rocksieve::tools {

void CheckRocksDbVersion(const Facts& facts, Findings* findings) {
  const std::string need = SignOfNeed(facts);
  if (need.empty() || facts.log() == nullptr || facts.log()->rocksdb_version.empty()) return;
  const std::string supported =
      std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + ".";
  const std::string& version = facts.log()->rocksdb_version;
  if (version.rfind(supported, 0) == 0) return;
  findings->push_back(
      {"unsupported-rocksdb",
       Severity::kError,
       "",
       "the database was last opened by a RocksDB that the plugin does not work with",
       {facts.log()->name + ": RocksDB version: " + version, need},
       "The plugin registers nothing there: policies of rocksieve are silently taken for none.",
       "Run the program with RocksDB " + supported + "x, or build rocksieve for RocksDB " +
           version + "."});
}

}  // namespace rocksieve::tools
