// SPDX-License-Identifier: Apache-2.0
// All of a row's value as one string of bytes, for comparisons of databases: two rows are alike if
// and only if these are equal.
//
// A plain value is itself. A row with wide columns (rocksdb/wide_columns.h), unless the default one
// is the only one, is a mark of eight bytes, 01, and in their order each column's name and value,
// both after a varint with their length. A plain value that begins with the mark is the mark, 00
// and itself. Where there is no row, the mark and 02 may stand for that.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksieve/join/diff.h>

namespace rocksieve::join {

// What a scan gives of a row's value: what Get() has, or all of it.
enum class RowValues { kPlain, kComparable };

// No row's value.
inline constexpr std::string_view kNoRow = "\xF7rswcol\xFE\x02";

// Of the row at which the iterator stands. The view is of the iterator's own bytes or of *buffer.
std::string_view ComparableValue(const rocksdb::Iterator& iterator, std::string* buffer);
std::string_view ComparableValue(std::string_view plain_value, std::string* buffer);

// What it was made of. The views are into `value`. False if it is none: the mark is not followed by
// what must follow it.
bool ReadComparableValue(std::string_view value, ReadableValue* readable);

// Single rows of a column family, in rising order of their keys. Reads the few blocks where the
// keys are, and leaves the block cache alone.
class RowLookup {
 public:
  // These must outlive it.
  RowLookup(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family);

  // The comparable value, valid until the next call; nothing if there is no
  // such row. REQUIRES: the key is not below the one before.
  absl::Status Find(std::string_view key, std::optional<std::string_view>* value);

 private:
  const std::unique_ptr<rocksdb::Iterator> iterator_;
  std::string comparable_;
  bool ended_ = false;
};

}  // namespace rocksieve::join
