// SPDX-License-Identifier: Apache-2.0
// The EventListener that keeps the journal of a database: include/rocksieve/listener.h.
//
// A file is linked before RocksDB makes it part of the database, so that no later compaction can
// take it away. What compactions make of files is written when RocksDB tells of it, a moment after
// they are part of the database. Nothing is locked, and nothing is thrown.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/listener.h>

namespace rocksieve {

inline constexpr const char* kJournalName = "rocksieve.journal";

// May listen to any number of databases. Thread-safe.
class ChangeJournal final : public rocksdb::EventListener {
 public:
  const char* Name() const override { return kJournalName; }

  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) override;
  void OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override;
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override;
  void OnExternalFileIngested(rocksdb::DB* db,
                              const rocksdb::ExternalFileIngestionInfo& info) override;
};

}  // namespace rocksieve
