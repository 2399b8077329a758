// SPDX-License-Identifier: Apache-2.0
// What decides how the filters of a column family are asked, as its OPTIONS have it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <rocksdb/comparator.h>
#include <rocksdb/env.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/status.h>

#include "plugin/tables/table_file.h"

namespace rocksieve {

// The OPTIONS file of a database, as text.
//
// RocksDB's own parser makes objects, and silently leaves out those that this process does not
// know. Here the words stay as they are, so that whatever a database was written with can be named.
class OptionsFile {
 public:
  // Reads the latest OPTIONS file in the directory. NotFound if there is none.
  static rocksdb::Status Load(const std::string& directory, rocksdb::Env* env, OptionsFile* file);

  static OptionsFile Parse(const std::string& text);

  // Empty if the file does not have it. Sections are written as in the file, without brackets:
  // "DBOptions", "CFOptions \"default\"", "TableOptions/BlockBasedTable \"default\"".
  std::string Value(const std::string& section, const std::string& name) const;
  std::string ColumnFamilyValue(const std::string& column_family, const std::string& name) const;
  std::string TableValue(const std::string& column_family, const std::string& name) const;
  bool HasTable(const std::string& column_family) const;  // options of block-based tables

  // "OPTIONS-000012" or so; empty if there is none.
  const std::string& file_name() const { return file_name_; }

 private:
  std::string file_name_;
  std::map<std::string, std::map<std::string, std::string>> sections_;
};

// To be opened with: at least as many as a database may have.
inline constexpr int kMostLevels = 64;

struct ColumnFamily {
  std::string name;

  std::string comparator_name;
  std::shared_ptr<const rocksdb::Comparator> comparator;  // never null
  // False if this process does not have it: `comparator` then orders bytewise, and nothing that
  // depends on the order of keys can be believed.
  bool comparator_known = true;
  bool persist_timestamps = true;  // persist_user_defined_timestamps, since RocksDB 8.5
  // True if keys have timestamps in memory, but not in files: `comparator` then knows nothing of
  // them.
  bool timestamps_stripped = false;

  std::string prefix_extractor_name;                                // empty if none
  std::shared_ptr<const rocksdb::SliceTransform> prefix_extractor;  // null if none, or unknown

  bool whole_key_filtering = true;
  bool optimize_filters_for_hits = false;
  std::string filter_policy;  // as written, "nullptr" for none; empty if no OPTIONS file tells
  std::string table_factory;  // likewise

  // User keys without their timestamps, which filters do not hold either.
  std::string_view WithoutTimestamp(std::string_view user_key) const;

  // Of keys without timestamps.
  int Compare(std::string_view a, std::string_view b) const;

  // What Get() asks a filter of this file about a key: the key or its prefix. False if it asks
  // nothing and reads the file.
  bool EntryToAsk(const TableProperties& file, std::string_view key, std::string_view* entry) const;
};

// Without an OPTIONS file (its names are empty), the defaults of RocksDB.
ColumnFamily DescribeColumnFamily(const std::string& name, const OptionsFile& options);

// As RocksDB names it, without its options: "StringAppendOperator". Empty if there is none.
std::string MergeOperatorName(const std::string& column_family, const OptionsFile& options);

// Sets the comparator by its name; one that only has the name if there is none such.
void SetComparator(const std::string& comparator_name, ColumnFamily* family);

}  // namespace rocksieve
