// RocksDB's statuses as Abseil's.
#pragma once

#include <string_view>

#include <absl/status/status.h>
#include <rocksdb/status.h>

namespace rocksieve::join {

// `doing` says what failed: "cannot scan column family \"users\"".
absl::Status FromRocksDb(const rocksdb::Status& status, std::string_view doing);

}  // namespace rocksieve::join
