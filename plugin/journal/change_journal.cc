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

std::string NameOf(const rocksdb::TableProperties& properties) {
  return JournalNameOf(properties.db_session_id, properties.orig_file_number);
}

// Empty if one of them does not say.
std::vector<std::string> NamesOf(const std::vector<std::string>& paths,
                                 const rocksdb::TablePropertiesCollection& properties) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const auto found = properties.find(path);
    if (found == properties.end() || found->second == nullptr) return {};
    names.push_back(NameOf(*found->second));
    if (names.back().empty()) return {};
  }
  return names;
}

bool DropsWhatIsOld(rocksdb::CompactionReason reason) {
  return reason == rocksdb::CompactionReason::kFIFOMaxSize ||
         reason == rocksdb::CompactionReason::kFIFOTtl;
}

}  // namespace

void ChangeJournal::OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) {
  const bool has_writes = info.reason == rocksdb::TableFileCreationReason::kFlush ||
                          info.reason == rocksdb::TableFileCreationReason::kRecovery;
  const std::string name = NameOf(info.table_properties);
  if (!has_writes || !info.status.ok() || info.file_path.empty() || name.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  JournalDirectory(info.db_name).AddTable(info.file_path, name, nullptr);
}

void ChangeJournal::OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo&) {
  uint64_t bytes = 0;
  db->GetIntProperty("rocksdb.total-sst-files-size", &bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  JournalDirectory(db->GetName()).Keep(std::max(kLeastTableBytes, bytes / kShareOfDatabase));
}

void ChangeJournal::OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) {
  const bool only_moves = info.input_files == info.output_files;
  if (!info.status.ok() || only_moves || DropsWhatIsOld(info.compaction_reason)) return;
  std::vector<std::string> inputs = NamesOf(info.input_files, info.table_properties);
  std::vector<std::string> outputs = NamesOf(info.output_files, info.table_properties);
  std::string session;
  if (inputs.empty() || outputs.size() != info.output_files.size() ||
      !db->GetDbSessionId(session).ok()) {
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  JournalDirectory(db->GetName()).AddJob(session, std::move(inputs), std::move(outputs));
}

void ChangeJournal::OnExternalFileIngested(rocksdb::DB* db,
                                           const rocksdb::ExternalFileIngestionInfo& info) {
  const std::string name = NameOf(info.table_properties);
  if (name.empty() || info.global_seqno == 0) return;
  const uint64_t sequence = info.global_seqno;
  const std::lock_guard<std::mutex> lock(mutex_);
  JournalDirectory(db->GetName()).AddTable(info.internal_file_path, name, &sequence);
}

}  // namespace rocksieve
