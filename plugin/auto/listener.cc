#include "plugin/auto/listener.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/budget/auto_spec.h"
#include "plugin/auto/file_context.h"
#include "plugin/auto/live_files.h"

namespace rocksieve {
namespace {

constexpr size_t kMaxDatabases = 1024;

std::vector<uint64_t> NumbersOf(const std::vector<rocksdb::CompactionFileInfo>& files) {
  std::vector<uint64_t> numbers;
  for (const rocksdb::CompactionFileInfo& file : files) numbers.push_back(file.file_number);
  return numbers;
}

}  // namespace

std::shared_ptr<LiveFileRegistry> Listener::RegistryOf(const std::string& db_name) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = databases_.find(db_name);
  // One of the same name that was closed in the meantime is another one.
  if (it != databases_.end() && it->second.has_log && it->second.log.expired()) {
    databases_.erase(it);
  }
  if (databases_.count(db_name) == 0) ForgetClosedLocked();
  Database& database = databases_[db_name];
  database.last_used = ++uses_;
  if (database.registry == nullptr) database.registry = std::make_shared<LiveFileRegistry>();
  return database.registry;
}

void Listener::ForgetClosedLocked() {
  for (auto it = databases_.begin(); it != databases_.end();) {
    const bool closed = it->second.has_log && it->second.log.expired();
    it = closed ? databases_.erase(it) : std::next(it);
  }
  if (databases_.size() < kMaxDatabases) return;
  databases_.erase(std::min_element(
      databases_.begin(), databases_.end(),
      [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; }));
}

void Listener::ResyncIfNeeded(rocksdb::DB* db, const std::string& column_family) {
  const std::shared_ptr<LiveFileRegistry> registry = RegistryOf(db->GetName());
  std::string session;
  if (!db->GetDbSessionId(session).ok() || !registry->NeedsResync(session, column_family)) return;
  const std::shared_ptr<rocksdb::Logger> log = db->GetDBOptions().info_log;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto it = databases_.find(db->GetName());
    if (it != databases_.end()) {
      it->second.has_log = log != nullptr;
      it->second.log = log;
    }
  }
  Resync(db, registry.get());
}

void Listener::OnTableFileCreationStarted(const rocksdb::TableFileCreationBriefInfo& info) {
  SetFileContext(
      {RegistryOf(info.db_name), info.cf_name, info.job_id, FileNumberOf(info.file_path)});
}

void Listener::OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) {
  SetFileContext({});  // nobody asked for a builder
  const std::shared_ptr<LiveFileRegistry> registry = RegistryOf(info.db_name);
  const uint64_t number = FileNumberOf(info.file_path);
  if (!info.status.ok()) {
    // A table that turned out empty has no path; its job's end tells.
    registry->Remove(number);
    return;
  }
  const rocksdb::TableProperties& properties = info.table_properties;
  registry->Complete(
      info.cf_name, number, properties.num_entries,
      properties.num_filter_entries != 0 ? properties.num_filter_entries : properties.num_entries,
      8.0 * static_cast<double>(properties.filter_size),
      AutoSpec::IsMeant(properties.filter_policy_name));
}

void Listener::OnTableFileDeleted(const rocksdb::TableFileDeletionInfo& info) {
  RegistryOf(info.db_name)->Remove(FileNumberOf(info.file_path));
}

void Listener::OnFlushBegin(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) {
  RegistryOf(db->GetName())->BeginJob(info.cf_name, info.job_id, {});
  ResyncIfNeeded(db, info.cf_name);
}

void Listener::OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) {
  RegistryOf(db->GetName())->EndJob(info.cf_name, info.job_id, {}, {info.file_number});
}

void Listener::OnCompactionBegin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) {
  RegistryOf(db->GetName())->BeginJob(info.cf_name, info.job_id, NumbersOf(info.input_file_infos));
  ResyncIfNeeded(db, info.cf_name);
}

void Listener::OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) {
  const std::shared_ptr<LiveFileRegistry> registry = RegistryOf(db->GetName());
  if (info.status.ok()) {
    registry->EndJob(info.cf_name, info.job_id, NumbersOf(info.input_file_infos),
                     NumbersOf(info.output_file_infos));
  } else {
    registry->FailJob(info.cf_name, info.job_id);
  }
}

void Listener::OnExternalFileIngested(rocksdb::DB* db,
                                      const rocksdb::ExternalFileIngestionInfo& info) {
  const std::shared_ptr<LiveFileRegistry> registry = RegistryOf(db->GetName());
  registry->RequestResync();
  ResyncIfNeeded(db, info.cf_name);
}

void Listener::OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status*) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [name, database] : databases_) database.registry->RequestResync();
}

size_t Listener::database_count() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return databases_.size();
}

}  // namespace rocksieve
