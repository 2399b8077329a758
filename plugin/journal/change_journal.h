// SPDX-License-Identifier: Apache-2.0
// The EventListener that keeps the journal of a database: include/rocksieve/listener.h.
//
// A file is linked before RocksDB makes it part of the database, so that no later compaction can
// take it away. What compactions make of files is written when RocksDB tells of it, a moment after
// they are part of the database. Nothing is locked, and nothing is thrown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include "plugin/journal/journal_format.h"

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

// Writes the journal of a database: journal_format.h. Keeps nothing between calls, so that a
// database may come and go. Thread-safe. What cannot be written is left out: what is missing in a
// journal costs a comparison time, and nothing else.
class JournalDirectory {
 public:
  explicit JournalDirectory(const std::string& database);

  // `name`: JournalNameOf(). `sequence`: of all entries, if it was ingested; else null.
  void AddTable(const std::string& path, const std::string& name, const uint64_t* sequence) const;
  // With the database's present options.
  void AddJob(const std::string& session, std::vector<std::string> inputs,
              std::vector<std::string> outputs) const;
  // Takes away the oldest tables, until the others have so many bytes.
  void Keep(uint64_t most_bytes) const;

 private:
  // As which one the present one is in the journal. Empty if there is none, or if it is older than
  // the MANIFEST in use: RocksDB may fail to write one, and then that of an earlier session stands.
  std::string AddOptions(const std::string& session) const;

  const std::string database_, directory_;
};

}  // namespace rocksieve
