// Preloaded, this makes librocksdb pass for another release: the one in STUB_ROCKSDB_VERSION.
#include <cstdlib>
#include <string>

namespace rocksdb {

std::string GetRocksVersionAsString(bool /*with_patch*/) {
  const char* version = std::getenv("STUB_ROCKSDB_VERSION");
  return version != nullptr ? version : "the variable STUB_ROCKSDB_VERSION is not set";
}

}  // namespace rocksdb
