// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/listener.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include "lib/budget/auto_spec.h"

namespace rocksieve {
namespace {

constexpr size_t kMaxDatabases = 1024;

// From ".../000012.sst"; 0 if there is none.
uint64_t FileNumberOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return std::strtoull(path.c_str() + (slash == std::string::npos ? 0 : slash + 1), nullptr, 10);
}

std::vector<uint64_t> NumbersOf(const std::vector<rocksdb::CompactionFileInfo>& files) {
  std::vector<uint64_t> numbers;
  for (const rocksdb::CompactionFileInfo& file : files) numbers.push_back(file.file_number);
  return numbers;
}

// What a table says of itself and of its filter.
void Describe(const rocksdb::TableProperties& properties, RegisteredFile* file) {
  file->entries = properties.num_entries;
  file->filter_keys =
      properties.num_filter_entries != 0 ? properties.num_filter_entries : properties.num_entries;
  file->filter_bits = 8.0 * static_cast<double>(properties.filter_size);
  file->policy_id = properties.filter_size == 0 ? 0 : PolicyId(properties.filter_policy_name);
}

// A RocksDB that is linked statically into a program, or into an extension of Node, may be without
// what nothing there uses, and without SstFileReader first of all. References that are weak let the
// plugin be loaded even so; auto then knows of the files that were there before only their sizes.
#ifndef ROCKSIEVE_IN_TREE
extern "C" {
#define ROCKSIEVE_WEAK(name, symbol) \
  extern const char name __asm__(symbol) __attribute__((weak, visibility("default")))
ROCKSIEVE_WEAK(constructor, "_ZN7rocksdb13SstFileReaderC1ERKNS_7OptionsE");
ROCKSIEVE_WEAK(destructor, "_ZN7rocksdb13SstFileReaderD1Ev");
ROCKSIEVE_WEAK(open_file,
               "_ZN7rocksdb13SstFileReader4OpenERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
ROCKSIEVE_WEAK(get_properties, "_ZNK7rocksdb13SstFileReader18GetTablePropertiesEv");
#undef ROCKSIEVE_WEAK
}
bool HasSstFileReader() {
  return &constructor != nullptr && &destructor != nullptr && &open_file != nullptr &&
         &get_properties != nullptr;
}
#else
bool HasSstFileReader() { return true; }
#endif

// A file takes some 0.2 ms, of a thread that is about to flush or compact.
constexpr size_t kMaxFilesRead = 1000;

// Opens files by itself: of the database's own, only those of column families whose handle is at
// hand could be asked for.
class PropertyReader {
 public:
  explicit PropertyReader(rocksdb::DB* db) {
    rocksdb::BlockBasedTableOptions table;
    table.cache_index_and_filter_blocks = true;  // else the index would be read
    options_.env = db->GetEnv();
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  }

  // False once it has read enough, or if files cannot be read here.
  bool Read(const rocksdb::LiveFileMetaData& metadata, RegisteredFile* file) {
    if (files_read_ == kMaxFilesRead || !HasSstFileReader()) return false;
    files_read_++;
    rocksdb::SstFileReader reader(options_);
    if (!reader.Open(metadata.directory + "/" + metadata.relative_filename).ok()) return false;
    Describe(*reader.GetTableProperties(), file);
    return true;
  }

 private:
  rocksdb::Options options_;
  size_t files_read_ = 0;
};

// What is known of the files of a column family on average, for those that were not read.
struct Average {
  double bytes = 0, entries = 0, keys = 0, bits = 0;
  uint64_t policy_id = 0;  // of the last

  void Add(const RegisteredFile& file, uint64_t file_bytes) {
    bytes += static_cast<double>(file_bytes);
    entries += static_cast<double>(file.entries);
    keys += static_cast<double>(file.filter_keys);
    bits += file.filter_bits;
    policy_id = file.policy_id;
  }
  void Describe(uint64_t file_bytes, RegisteredFile* file) const {
    if (bytes == 0) return;
    const double share = static_cast<double>(file_bytes) / bytes;
    file->entries = static_cast<uint64_t>(share * entries);
    file->filter_keys = static_cast<uint64_t>(share * keys);
    file->filter_bits = share * bits;
    file->policy_id = policy_id;
  }
};

// The files of the column families that are followed, with what is known or can be read of them.
FilesByColumnFamily Describe(rocksdb::DB* db, const std::vector<rocksdb::LiveFileMetaData>& listed,
                             const LiveFileRegistry& registry) {
  std::vector<uint64_t> numbers;
  for (const rocksdb::LiveFileMetaData& metadata : listed) numbers.push_back(metadata.file_number);
  const std::unordered_map<uint64_t, RegisteredFile> known = registry.Known(numbers);
  PropertyReader reader(db);
  FilesByColumnFamily live;
  std::unordered_map<std::string, Average> averages;
  std::vector<std::pair<const rocksdb::LiveFileMetaData*, RegisteredFile>> not_read;
  for (const rocksdb::LiveFileMetaData& metadata : listed) {
    const std::string& column_family = metadata.column_family_name;
    if (!registry.Follows(column_family)) continue;
    RegisteredFile file;
    const auto it = known.find(metadata.file_number);
    const bool is_known = it != known.end() && it->second.filter_bits >= 0;
    if (is_known) file = it->second;
    file.number = metadata.file_number;
    file.range = std::make_shared<const UserKeyRange>(
        UserKeyRange{metadata.smallestkey, metadata.largestkey});
    if (is_known || reader.Read(metadata, &file)) {
      averages[column_family].Add(file, metadata.size);
      live[column_family].push_back(std::move(file));
    } else {
      not_read.emplace_back(&metadata, std::move(file));
    }
  }
  for (auto& [metadata, file] : not_read) {
    averages[metadata->column_family_name].Describe(metadata->size, &file);
    live[metadata->column_family_name].push_back(std::move(file));
  }
  return live;
}

// Empty if it is not known.
std::string SessionOf(rocksdb::DB* db) {
  std::string session;
  return db->GetDbSessionId(session).ok() ? session : "";
}

// Brings the registry in accord with the database. Must be called where RocksDB allows calls, which
// it does in the events that bring a DB*, and without any lock. Reads the properties of files that
// are not known yet, of at most some thousand of them; the others are taken to be like these.
void Resync(rocksdb::DB* db, const std::string& session, LiveFileRegistry* registry) {
  if (!registry->BeginResync()) return;
  std::vector<rocksdb::LiveFileMetaData> listed;
  db->GetLiveFilesMetaData(&listed);
  registry->Replace(session, Describe(db, listed, *registry));
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
  Resync(db, session, registry.get());
}

void Listener::OnTableFileCreationStarted(const rocksdb::TableFileCreationBriefInfo& info) {
  const uint64_t thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  const std::shared_ptr<LiveFileRegistry> registry = RegistryOf(info.db_name);
  registry->BeginFile(info.cf_name, info.job_id, thread);
  SetFileContext({registry, info.cf_name, info.job_id, FileNumberOf(info.file_path), thread});
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
  RegisteredFile file;
  file.number = number;
  Describe(info.table_properties, &file);
  registry->Complete(info.cf_name, file,
                     AutoSpec::IsMeant(info.table_properties.filter_policy_name));
}

void Listener::OnTableFileDeleted(const rocksdb::TableFileDeletionInfo& info) {
  RegistryOf(info.db_name)->Remove(FileNumberOf(info.file_path));
}

void Listener::OnFlushBegin(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) {
  RegistryOf(db->GetName())->BeginJob(info.cf_name, info.job_id, {}, SessionOf(db));
  ResyncIfNeeded(db, info.cf_name);
}

void Listener::OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) {
  RegistryOf(db->GetName())->EndJob(info.cf_name, info.job_id, {}, {info.file_number});
}

void Listener::OnCompactionBegin(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) {
  RegistryOf(db->GetName())
      ->BeginJob(info.cf_name, info.job_id, NumbersOf(info.input_file_infos), SessionOf(db));
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
