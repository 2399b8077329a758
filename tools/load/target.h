// SPDX-License-Identifier: Apache-2.0
// The database that `load` and `ingest` write: how it is opened, and what may stand in the way.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <rocksdb/db.h>

#include "plugin/database/database.h"

namespace rocksieve::tools {

struct TargetOptions {
  std::string directory;
  std::string spec;                       // see policy_spec.h; empty with `add`: as it has
  std::string column_family = "default";  // made if it is not there, with the spec
  std::string option_string;              // RocksDB's, on top of ours, for a new database
  bool partitioned = false;               // index and filters
  // Refuses a database whose OPTIONS name write-ahead logs elsewhere: in a copy of a database they
  // are those of the database that it is of, which would lose what is in them.
  bool own_logs_only = false;
  bool add = false;  // to a database that exists, with the options that it has
};

class Target {
 public:
  // InvalidArgument or IOError, with the remedy; what was made of a new database is removed then.
  static rocksdb::Status Open(const TargetOptions& options, std::unique_ptr<Target>* result);
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  rocksdb::DB* db() const { return open_.db.get(); }
  rocksdb::ColumnFamilyHandle* family() const { return family_; }
  const std::vector<rocksdb::ColumnFamilyHandle*>& families() const { return open_.handles; }
  // Null if there is none of that name.
  rocksdb::ColumnFamilyHandle* FamilyNamed(const std::string& name) const;

 private:
  Target() = default;
  rocksdb::Status OpenNew(const TargetOptions& options);
  rocksdb::Status OpenExisting(const TargetOptions& options);
  void Destroy(const std::string& directory, bool with_directory);
  rocksdb::Status FindOrMakeFamily(const std::string& name,
                                   const rocksdb::ColumnFamilyOptions& options);

  OpenHandles open_;
  rocksdb::ColumnFamilyHandle* family_ = nullptr;  // one of the handles
};

}  // namespace rocksieve::tools
