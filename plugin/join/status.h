// SPDX-License-Identifier: Apache-2.0
// RocksDB's statuses as Abseil's, and back: the public headers speak RocksDB's.
#pragma once

#include <string_view>

#include <absl/status/status.h>
#include <rocksdb/status.h>

namespace rocksieve::join {

// `doing` says what failed: "cannot scan column family \"users\"".
absl::Status FromRocksDb(const rocksdb::Status& status, std::string_view doing);
rocksdb::Status ToRocksDb(const absl::Status& status);

}  // namespace rocksieve::join
