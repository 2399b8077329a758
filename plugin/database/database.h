// SPDX-License-Identifier: Apache-2.0
// A RocksDB database, opened only to look: ours or not, of a living process or not.
//
// Nothing is written, locked or replayed (snapshot_files.h). What is seen is the state that the
// MANIFEST described when it was opened (snapshot_files.h), however busy a living database is.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/status.h>

#include "plugin/database/column_family.h"
#include "plugin/database/snapshot_files.h"

namespace rocksieve {

// Why a database cannot be looked at, for people: what is in the way, and what to do about it.
//
// What can be seen before RocksDB is asked: no directory, no database in it, no permission.
rocksdb::Status CheckIsDatabase(const std::string& directory);

// Makes a sentence of what RocksDB said.
rocksdb::Status ExplainOpenError(const std::string& directory, const rocksdb::Status& status);

rocksdb::Status NoSuchColumnFamily(const std::string& directory, const std::string& name,
                                   const std::vector<std::string>& existing);

// Of one that is or has `what`, whose transactions a read-only RocksDB takes for something else.
rocksdb::Status LogsNotRead(const std::string& directory, const std::string& what);

// RocksDB's objects of a database that is open, which go in their order.
struct OpenHandles {
  std::vector<ColumnFamily> families;  // own comparators that the database uses
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;  // of the families

  ~OpenHandles() { Close(); }
  void Close();
};

class Database {
 public:
  // `wanted`: names of column families, all if empty. Every error is a sentence that names the
  // thing and the remedy.
  static rocksdb::Status Open(const std::string& directory, const std::vector<std::string>& wanted,
                              std::unique_ptr<Database>* database);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& directory() const { return directory_; }
  const OptionsFile& options() const { return files_->options(); }
  const std::vector<ColumnFamily>& column_families() const { return open_.families; }

  // The files as they were when it was opened.
  const std::shared_ptr<SnapshotFiles>& files() const { return files_; }

  // True if all table files are held open, so that they stay readable when a living database
  // deletes them; false if the limit of open files (ulimit -n) is too low for that.
  bool holds_files() const { return holds_files_; }

  // For reading keys. Has no filters and no data of write-ahead logs.
  rocksdb::DB* db() const { return open_.db.get(); }
  rocksdb::ColumnFamilyHandle* handle(size_t family) const { return open_.handles[family]; }

  // Of the logs that may hold data that is in no file yet.
  uint64_t write_ahead_log_bytes() const { return write_ahead_log_bytes_; }
  // The number of the oldest of them; the greatest there is if there is none.
  uint64_t oldest_write_ahead_log() const { return oldest_write_ahead_log_; }

 private:
  Database() = default;
  rocksdb::Status OpenOnce(const std::vector<std::string>& wanted, bool* explained);
  rocksdb::Status OpenFiles();
  void KeepOnly(const std::vector<std::string>& wanted);
  void MeasureWriteAheadLogs();

  std::string directory_;
  bool holds_files_ = false;
  std::shared_ptr<SnapshotFiles> files_;  // the database stands on it
  OpenHandles open_;
  uint64_t write_ahead_log_bytes_ = 0;
  uint64_t oldest_write_ahead_log_ = std::numeric_limits<uint64_t>::max();
};

}  // namespace rocksieve
