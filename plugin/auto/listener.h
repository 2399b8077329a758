// SPDX-License-Identifier: Apache-2.0
// The EventListener through which `auto` follows databases: include/rocksieve/listener.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>

#include "plugin/auto/live_file_registry.h"

namespace rocksieve {

inline constexpr const char* kListenerName = "rocksieve.listener";

// May listen to any number of databases, at once and one after the other. Forgets a database when
// its log is gone, which is when it was closed; and, should programs share a log among databases,
// the one that was quiet for longest when there are too many.
class Listener final : public rocksdb::EventListener {
 public:
  const char* Name() const override { return kListenerName; }

  void OnTableFileCreationStarted(const rocksdb::TableFileCreationBriefInfo& info) override;
  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) override;
  void OnTableFileDeleted(const rocksdb::TableFileDeletionInfo& info) override;
  void OnFlushBegin(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override;
  void OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override;
  void OnCompactionBegin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override;
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override;
  void OnExternalFileIngested(rocksdb::DB* db,
                              const rocksdb::ExternalFileIngestionInfo& info) override;
  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override;

  size_t database_count() const;

 private:
  struct Database {
    std::shared_ptr<LiveFileRegistry> registry;
    bool has_log = false;
    std::weak_ptr<rocksdb::Logger> log;
    uint64_t last_used = 0;
  };

  std::shared_ptr<LiveFileRegistry> RegistryOf(const std::string& db_name);
  void ForgetClosedLocked();
  void ResyncIfNeeded(rocksdb::DB* db, const std::string& column_family);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Database> databases_;  // guarded by mutex_
  uint64_t uses_ = 0;                                    // guarded by mutex_
};

}  // namespace rocksieve
