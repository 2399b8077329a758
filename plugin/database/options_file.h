// SPDX-License-Identifier: Apache-2.0
// The OPTIONS file of a database, as text.
//
// RocksDB's own parser makes objects, and silently leaves out those that this process does not
// know. Here the words stay as they are, so that whatever a database was written with can be named.
#pragma once

#include <map>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/status.h>

namespace rocksieve {

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

  // "OPTIONS-000012" or so; empty if there is none.
  const std::string& file_name() const { return file_name_; }

 private:
  std::string file_name_;
  std::map<std::string, std::map<std::string, std::string>> sections_;
};

}  // namespace rocksieve
