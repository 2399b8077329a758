// Abseil's statuses as RocksDB's, which the public headers speak.
#pragma once

#include <absl/status/status.h>
#include <rocksdb/status.h>

namespace rocksieve::join {

rocksdb::Status ToRocksDb(const absl::Status& status);

}  // namespace rocksieve::join
