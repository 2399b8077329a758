// What a RocksDB status says to people.
#pragma once

#include <string>

#include <rocksdb/status.h>

namespace rocksieve::tools {

// Without the kind of status if there is a message: ours say it all.
inline std::string Message(const rocksdb::Status& status) {
  return status.getState() != nullptr ? status.getState() : status.ToString();
}

}  // namespace rocksieve::tools
