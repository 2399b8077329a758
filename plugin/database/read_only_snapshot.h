// SPDX-License-Identifier: Apache-2.0
// One column family of a database as it was at one moment, its write-ahead logs included: for
// reading rows beside the process that owns it.
//
// Nothing is written, locked or deleted. All table and blob files are held open (snapshot_files.h),
// so that the view stays whole when the owner deletes them; what the write-ahead logs hold is kept
// in memory. Rows that the owner wrote without a write-ahead log are not in the view before they
// are flushed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/status.h>
#include <rocksdb/wal_filter.h>

#include "plugin/database/database.h"

namespace rocksieve {

// What was found in the logs of a TransactionDB while they were read.
struct TransactionLogFacts {
  uint64_t first_log = 0;  // that had to be read, by its number; 0 if none had anything
  bool has_prepared = false;
  std::string unread;  // what the database is or has if its logs are not read rightly; else empty
};

class ReadOnlySnapshot {
 public:
  // However busy the owner is: SnapshotFiles::Look(). Every error is a sentence that names the
  // thing and the remedy.
  // `rate_limiter` may be null; reads of tables are charged to it with priority IO_LOW, if they
  // have that (ReadOptions::rate_limiter_priority).
  // With `keep_in`, the state is kept there (SnapshotFiles::Keep()), and opens with `is_kept` as
  // just what is seen here, later and in other processes; NotFound if it is not that any more.
  static rocksdb::Status Open(const std::string& directory, const std::string& column_family,
                              std::unique_ptr<ReadOnlySnapshot>* view,
                              const std::shared_ptr<rocksdb::RateLimiter>& rate_limiter = nullptr,
                              const std::string& keep_in = "", bool is_kept = false);
  ReadOnlySnapshot(const ReadOnlySnapshot&) = delete;
  ReadOnlySnapshot& operator=(const ReadOnlySnapshot&) = delete;

  rocksdb::DB* db() const { return open_.db.get(); }
  rocksdb::ColumnFamilyHandle* column_family() const { return open_.handles.back(); }
  const ColumnFamily& description() const { return open_.families.back(); }
  // As its OPTIONS file has it, whether this program has that or not; empty if it has none.
  std::string MergeOperatorName() const;
  // Whether GetUpdatesSince() may come to transactions that were prepared, committed or not. Their
  // sequence numbers come again after them, which it does not expect.
  bool MayHavePreparedTransactions() const;

 private:
  ReadOnlySnapshot() = default;
  rocksdb::Status OpenOnce(const std::string& directory, const std::string& column_family,
                           const std::shared_ptr<rocksdb::RateLimiter>& rate_limiter,
                           bool* explained);

  // In the order in which they stand on one another.
  std::unique_ptr<SnapshotFiles> files_;
  std::unique_ptr<rocksdb::WalFilter> transaction_logs_;  // null unless of a TransactionDB
  TransactionLogFacts log_facts_;
  OpenHandles open_;
};

// The name, or a hash where that and so many bytes more are too long for the name of a file.
std::string NameOrHash(const std::string& name, size_t more_bytes);

// States of a database's column families, kept in a directory so that what has changed since can be
// found: hard links of table files, which so take place on the disk until they are dropped, and
// copies of the rest.
//
// Thread-safe, also between processes.
class KeptStates {
 public:
  using RateLimiterPtr = std::shared_ptr<rocksdb::RateLimiter>;

  // The directory is made when it is needed, on the database's file system. Of each column family,
  // the newest four are kept.
  explicit KeptStates(std::string directory) : directory_(std::move(directory)) {}

  // The present state, as ReadOnlySnapshot::Open() has it, and under which name it is kept: one
  // that cannot be guessed.
  rocksdb::Status OpenAndKeep(const std::string& database, const std::string& column_family,
                              const RateLimiterPtr& rate_limiter,
                              std::unique_ptr<ReadOnlySnapshot>* state, std::string* name) const;

  // NotFound if there is no such state, or it is damaged. Takes any name.
  rocksdb::Status Open(const std::string& name, const std::string& column_family,
                       const RateLimiterPtr& rate_limiter,
                       std::unique_ptr<ReadOnlySnapshot>* state) const;

  // Takes any name.
  void Drop(const std::string& name, const std::string& column_family) const;

 private:
  std::string FolderOf(const std::string& column_family) const;
  void DropOld(const std::string& column_family) const;

  const std::string directory_;
};

}  // namespace rocksieve
