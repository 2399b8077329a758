// SPDX-License-Identifier: Apache-2.0
// RocksDB's statuses and bytes as Abseil's, and back: the public headers speak RocksDB's.
#pragma once

#include <string_view>

#include <absl/status/status.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

namespace rocksieve::join {

inline rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// `doing` says what failed: "cannot scan column family \"users\"".
absl::Status FromRocksDb(const rocksdb::Status& status, std::string_view doing);
rocksdb::Status ToRocksDb(const absl::Status& status);

}  // namespace rocksieve::join
