// SPDX-License-Identifier: Apache-2.0
#include "plugin/journal/change_journal.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/table_properties.h>

#include "plugin/journal/journal_directory.h"

namespace rocksieve {
namespace {

constexpr uint64_t kLeastTableBytes = uint64_t{1} << 30;  // that are kept
constexpr uint64_t kShareOfDatabase = 16;                 // or one part in so many, if that is more

std::string NameOf(const std::string& column_family, const rocksdb::TableProperties& properties) {
  return JournalNameOf(column_family, properties.db_session_id, properties.orig_file_number);
}

// Empty if one of them does not say.
std::vector<std::string> NamesOf(const std::vector<std::string>& paths,
                                 const rocksdb::CompactionJobInfo& info) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const auto found = info.table_properties.find(path);
    if (found == info.table_properties.end() || found->second == nullptr) return {};
    names.push_back(NameOf(info.cf_name, *found->second));
    if (names.back().empty()) return {};
  }
  return names;
}

bool DropsWhatIsOld(rocksdb::CompactionReason reason) {
  return reason == rocksdb::CompactionReason::kFIFOMaxSize ||
         reason == rocksdb::CompactionReason::kFIFOTtl;
}

void KeepLimits(rocksdb::DB* db) {
  uint64_t bytes = 0;
  db->GetAggregatedIntProperty("rocksdb.live-sst-files-size", &bytes);
  JournalDirectory(db->GetName()).Keep(std::max(kLeastTableBytes, bytes / kShareOfDatabase));
}

void AddCompaction(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) {
  const bool only_moves = info.input_files == info.output_files;
  if (!info.status.ok() || only_moves || DropsWhatIsOld(info.compaction_reason)) return;
  // Elsewhere, it may be with other filters and operators than the OPTIONS name.
  if (db->GetDBOptions().compaction_service != nullptr) return;
  std::vector<std::string> inputs = NamesOf(info.input_files, info);
  std::vector<std::string> outputs = NamesOf(info.output_files, info);
  std::string session;
  if (inputs.empty() || outputs.size() != info.output_files.size() ||
      !db->GetDbSessionId(session).ok()) {
    return;
  }
  JournalDirectory(db->GetName()).AddJob(session, std::move(inputs), std::move(outputs));
}

// Of memory that is not there, for instance: the database goes on.
template <typename Work>
void WithoutThrowing(Work work) {
  try {
    work();
  } catch (...) {
  }
}

}  // namespace

void ChangeJournal::OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) {
  WithoutThrowing([&] {
    const bool has_writes = info.reason == rocksdb::TableFileCreationReason::kFlush ||
                            info.reason == rocksdb::TableFileCreationReason::kRecovery;
    const std::string name = NameOf(info.cf_name, info.table_properties);
    if (!has_writes || !info.status.ok() || info.file_path.empty() || name.empty()) return;
    JournalDirectory(info.db_name).AddTable(info.file_path, name, nullptr);
  });
}

void ChangeJournal::OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo&) {
  WithoutThrowing([&] { KeepLimits(db); });
}

void ChangeJournal::OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) {
  WithoutThrowing([&] {
    AddCompaction(db, info);
    KeepLimits(db);
  });
}

void ChangeJournal::OnExternalFileIngested(rocksdb::DB* db,
                                           const rocksdb::ExternalFileIngestionInfo& info) {
  WithoutThrowing([&] {
    const std::string name = NameOf(info.cf_name, info.table_properties);
    if (name.empty()) return;
    const uint64_t sequence = info.global_seqno;
    JournalDirectory(db->GetName()).AddTable(info.internal_file_path, name, &sequence);
    KeepLimits(db);
  });
}

}  // namespace rocksieve
