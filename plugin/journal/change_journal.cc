// SPDX-License-Identifier: Apache-2.0
#include "plugin/journal/change_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <rocksdb/table_properties.h>

namespace rocksieve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOptionsPrefix = "OPTIONS-";
constexpr size_t kMostOptionsFiles = 64;

struct JournalEntry {
  fs::file_time_type written;
  uint64_t bytes;
  fs::path path;
};

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::vector<JournalEntry> EntriesOf(const fs::path& directory) {
  std::vector<JournalEntry> entries;
  std::error_code error;
  for (fs::directory_iterator file(directory, error), end; !error && file != end;
       file.increment(error)) {
    std::error_code gone;
    const fs::file_time_type written = file->last_write_time(gone);
    const uint64_t bytes = gone ? 0 : file->file_size(gone);
    if (!gone) entries.push_back({written, bytes, file->path()});
  }
  std::sort(entries.begin(), entries.end(), [](const JournalEntry& a, const JournalEntry& b) {
    return a.written > b.written;
  });  // newest
  return entries;
}

}  // namespace

JournalDirectory::JournalDirectory(const std::string& database)
    : database_(database), directory_(database + "/" + kJournalDirectory) {
  std::error_code ignored;  // if it cannot be made, nothing can be written
  fs::create_directory(directory_, ignored);
}

void JournalDirectory::AddTable(const std::string& path, const std::string& name,
                                const uint64_t* sequence) const {
  const std::string number = sequence == nullptr ? "" : "." + std::to_string(*sequence);
  std::error_code ignored;
  fs::create_hard_link(path, directory_ + "/" + name + number + ".sst", ignored);
}

std::string JournalDirectory::AddOptions(const std::string& session) const {
  std::string latest;  // the numbers have as many digits
  std::error_code error;
  for (fs::directory_iterator file(database_, error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().filename().string();
    const bool is_options = name.rfind(kOptionsPrefix, 0) == 0 && !EndsWith(name, ".dbtmp");
    if (is_options && (name.size() > latest.size() || name > latest)) latest = name;
  }
  if (latest.empty()) return "";
  const fs::file_time_type written = fs::last_write_time(database_ + "/" + latest, error);
  if (error || written < fs::last_write_time(database_ + "/CURRENT", error) || error) return "";
  const std::string name = session + "." + latest;
  fs::create_hard_link(database_ + "/" + latest, directory_ + "/" + name, error);
  return name;
}

void JournalDirectory::AddJob(const std::string& session, std::vector<std::string> inputs,
                              std::vector<std::string> outputs) const {
  const std::string jobs = directory_ + "/" + kJournalJobs;
  std::error_code error;
  if (fs::file_size(jobs, error) > kMostJournalJobsBytes && !error) {
    fs::rename(jobs, directory_ + "/" + kOldJournalJobs, error);
    if (error) return;
  }
  const std::string line =
      JournalLineOf({AddOptions(session), std::move(inputs), std::move(outputs)});
  const int file = open(jobs.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  // After what a write that failed may have left.
  const std::string whole = "\n" + line;
  const ssize_t written = write(file, whole.data(), whole.size());
  static_cast<void>(written);  // the line's checksum tells
  close(file);
}

void JournalDirectory::Keep(uint64_t most_bytes) const {
  uint64_t bytes = 0;
  size_t options_files = 0;
  std::error_code ignored;
  for (const JournalEntry& entry : EntriesOf(directory_)) {
    const std::string name = entry.path.filename().string();
    if (EndsWith(name, ".sst")) {
      bytes += entry.bytes;
      if (bytes > most_bytes) fs::remove(entry.path, ignored);
    } else if (name.find(std::string(".") + kOptionsPrefix) != std::string::npos) {
      if (++options_files > kMostOptionsFiles) fs::remove(entry.path, ignored);
    }
  }
}

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
