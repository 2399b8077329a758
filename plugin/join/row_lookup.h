// SPDX-License-Identifier: Apache-2.0
// Single rows of a column family, in rising order of their keys.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <rocksdb/db.h>

namespace rocksieve::join {

// Reads the few blocks where the keys are, and leaves the block cache alone.
class RowLookup {
 public:
  // These must outlive it.
  RowLookup(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family);

  // The comparable value (comparable_value.h), valid until the next call; nothing if there is no
  // such row. REQUIRES: the key is not below the one before.
  absl::Status Find(std::string_view key, std::optional<std::string_view>* value);

 private:
  const std::unique_ptr<rocksdb::Iterator> iterator_;
  std::string comparable_;
};

}  // namespace rocksieve::join
