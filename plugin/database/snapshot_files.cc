// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/snapshot_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <rocksdb/file_system.h>
#include <rocksdb/metadata.h>
#include <rocksdb/utilities/options_util.h>

#include "plugin/database/database.h"
#include "support/progress.h"
#include "support/return_if_error.h"

namespace rocksieve {
namespace {

namespace fs = std::filesystem;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Status;
using std::chrono::milliseconds;

constexpr std::chrono::minutes kPatience{2};
constexpr int kSameErrors = 5;  // after which it is not the owner's doing
constexpr milliseconds kLongestPause{20};
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

bool IsTable(const std::string& name) {
  const std::string extension = fs::path(name).extension();
  return extension == ".sst" || extension == ".ldb" || extension == ".blob";
}
bool IsLog(const std::string& name) { return fs::path(name).extension() == ".log"; }
bool IsOptions(const std::string& name) { return name.rfind("OPTIONS-", 0) == 0; }

// RocksDB writes "db//000012.sst" where the directory was named with a slash at its end.
std::string Normal(const std::string& path) {
  std::string normal = fs::path(path).lexically_normal();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

}  // namespace

// What is held, as a file system: all else is as it is.
class SnapshotFiles::Files final : public rocksdb::FileSystemWrapper {
 public:
  Files(WriteAheadLogs logs, bool hold_tables)
      : FileSystemWrapper(ReadOnlyEnv(logs)->GetFileSystem()),
        logs_(logs),
        hold_tables_(hold_tables) {}
  const char* Name() const override { return "rocksieve.SnapshotFiles"; }

  IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* debug) override {
    const bool looks_empty = logs_ == WriteAheadLogs::kLookEmpty && IsLog(path);
    if (IsLog(path) && !looks_empty) EndLog(path);
    const Held held = Find(path);
    if (held.file == nullptr || looks_empty) {
      return target()->NewSequentialFile(path, options, file, debug);
    }
    *file = SequentialAccessTo(held.file, held.end);
    return IOStatus::OK();
  }
  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                               IODebugContext* debug) override {
    const Held held = Find(path);
    if (held.file == nullptr) return target()->NewRandomAccessFile(path, options, file, debug);
    *file = RandomAccessTo(held.file);
    return IOStatus::OK();
  }
  IOStatus GetFileSize(const std::string& path, const IOOptions& options, uint64_t* bytes,
                       IODebugContext* debug) override {
    const Held held = Find(path);
    if (held.file == nullptr) return target()->GetFileSize(path, options, bytes, debug);
    IOStatus status = held.file->Size(bytes);
    *bytes = std::min(*bytes, held.end);
    return status;
  }
  IOStatus FileExists(const std::string& path, const IOOptions& options,
                      IODebugContext* debug) override {
    return Find(path).file != nullptr ? IOStatus::OK() : target()->FileExists(path, options, debug);
  }
  IOStatus GetChildren(const std::string& path, const IOOptions& options,
                       std::vector<std::string>* names, IODebugContext* debug) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto listing = listings_.find(Normal(path));
    if (listing == listings_.end()) return target()->GetChildren(path, options, names, debug);
    *names = listing->second;
    return IOStatus::OK();
  }

  // Holds what CURRENT names, up to its present end. Returns a state that changes with each change
  // of the tree.
  std::string HoldManifest(const std::string& directory) {
    const std::string current = Normal(directory + "/CURRENT");
    std::shared_ptr<const HeldFile> file;
    if (!HeldFile::Open(current, &file).ok()) return "";
    char scratch[256];
    rocksdb::Slice text;
    if (!file->Read(0, sizeof(scratch), &text, scratch).ok()) return "";
    std::string name = text.ToString();
    name.erase(std::find(name.begin(), name.end(), '\n'), name.end());
    const std::string manifest = Normal(directory + "/" + name);
    const std::lock_guard<std::mutex> lock(mutex_);
    held_[current] = {file, kNoLimit};
    HoldLocked(manifest);
    const auto held = held_.find(manifest);
    uint64_t bytes = 0;
    if (held == held_.end() || !held->second.file->Size(&bytes).ok()) return name;
    held->second.end = bytes;
    if (manifest != manifest_) held_.erase(manifest_);
    manifest_ = manifest;
    return name + " " + std::to_string(bytes);
  }

  // Holds the files that are in the directory now, and lets go of those that are not.
  void HoldDirectory(const std::string& directory, bool only_logs) {
    std::vector<std::string> names, left;
    if (!target()->GetChildren(directory, IOOptions(), &names, nullptr).ok()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    std::set<std::string> present;
    for (std::string& name : names) {
      const std::string path = Normal(directory + "/" + name);
      const bool wanted =
          IsLog(name) || (!only_logs && (IsOptions(name) || (hold_tables_ && IsTable(name))));
      if (wanted && !HoldLocked(path)) continue;
      present.insert(path);
      left.push_back(std::move(name));
    }
    for (auto file = held_.begin(); file != held_.end();) {
      const bool here = fs::path(file->first).parent_path() == Normal(directory);
      const bool stays = !here || present.count(file->first) > 0 || file->first == manifest_;
      file = stays ? std::next(file) : held_.erase(file);
    }
    listings_[Normal(directory)] = std::move(left);
  }

  void ForgetWhichLogsWereRead() {
    const std::lock_guard<std::mutex> lock(mutex_);
    logs_read_.clear();
  }

  // Those that were read: RocksDB skips what is flushed, and that is what is overwritten first.
  bool LogsAreInPlace() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::all_of(logs_read_.begin(), logs_read_.end(), [&](const std::string& path) {
      const auto held = held_.find(path);
      return held != held_.end() && held->second.file->IsAt(path);
    });
  }

  IOStatus LinkTo(const std::string& directory) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [path, held] : held_) {
      const std::string name = fs::path(path).filename();
      RETURN_IF_ERROR(IsTable(name) ? held.file->LinkTo(directory + "/" + name)
                                    : held.file->CopyTo(directory + "/" + name, held.end));
    }
    return IOStatus::OK();
  }

  void HoldOnly(const std::set<std::string>& tables) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto file = held_.begin(); file != held_.end();) {
      const std::string name = fs::path(file->first).filename();
      file = IsTable(name) && tables.count(name) == 0 ? held_.erase(file) : std::next(file);
    }
  }

 private:
  struct Held {
    std::shared_ptr<const HeldFile> file;
    uint64_t end = kNoLimit;  // what is after it is of a later moment
  };

  Held Find(const std::string& path) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = held_.find(Normal(path));
    return found == held_.end() ? Held() : found->second;
  }

  // A log ends for all readers where it ended for the first one, though its owner goes on writing.
  void EndLog(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto held = held_.find(Normal(path));
    if (held == held_.end() || !logs_read_.insert(held->first).second) return;
    if (!held->second.file->Size(&held->second.end).ok()) held->second.end = kNoLimit;
  }

  // False if there is no such file. One that cannot be opened is not held: whoever needs it will
  // say so.
  bool HoldLocked(const std::string& path) {
    if (held_.count(path) > 0) return true;
    std::shared_ptr<const HeldFile> file;
    const IOStatus status = HeldFile::Open(path, &file);
    if (status.ok()) held_[path].file = std::move(file);
    return !status.IsPathNotFound();
  }

  const WriteAheadLogs logs_;
  const bool hold_tables_;
  mutable std::mutex mutex_;  // guards what follows: RocksDB opens tables in several threads
  std::map<std::string, Held> held_;
  std::map<std::string, std::vector<std::string>> listings_;
  std::set<std::string> logs_read_;
  std::string manifest_;
};

SnapshotFiles::SnapshotFiles(std::string directory, WriteAheadLogs logs, bool hold_tables,
                             bool is_kept)
    : directory_(std::move(directory)),
      logs_(logs),
      is_kept_(is_kept),
      files_(std::make_shared<Files>(logs, hold_tables)),
      env_(rocksdb::NewCompositeEnv(files_)) {}

SnapshotFiles::~SnapshotFiles() = default;

Status SnapshotFiles::Look(const std::function<Status(bool* explained)>& look) {
  const Time deadline = std::chrono::steady_clock::now() + kPatience;
  std::string last_error;
  int same_errors = 0;
  for (milliseconds pause{1};; pause = std::min(2 * pause, kLongestPause)) {
    RETURN_IF_ERROR(Refresh(deadline));
    bool explained = false;
    Status status = look(&explained);
    if (explained) return status;
    const bool intact = LogsAreIntact();
    if (status.ok() && intact) return status;
    const std::string error = status.ok() ? "" : status.ToString();
    same_errors = !status.ok() && error == last_error ? same_errors + 1 : 1;
    last_error = error;
    const bool late = std::chrono::steady_clock::now() > deadline;
    if (!status.ok() && (late || same_errors >= kSameErrors)) {
      return ExplainOpenError(directory_, status);
    }
    if (late) return TooFast();
    if (InterruptSignal() != 0) return Status::Aborted("interrupted");
    std::this_thread::sleep_for(pause);
  }
}

// If the MANIFEST is the same before and after, no file that it names was deleted meanwhile, and
// what it says is older than each log that is held: what logs of a later moment would add is later
// than all that is there.
Status SnapshotFiles::Refresh(Time deadline) {
  files_->ForgetWhichLogsWereRead();
  std::string before = files_->HoldManifest(directory_);
  for (;;) {
    HoldDirectories();
    std::string after = files_->HoldManifest(directory_);
    if (before == after) return Status::OK();
    if (InterruptSignal() != 0) return Status::Aborted("interrupted");
    if (std::chrono::steady_clock::now() > deadline) return TooFast();
    before = std::move(after);
  }
}

void SnapshotFiles::HoldDirectories() {
  files_->HoldDirectory(directory_, /*only_logs=*/false);
  LoadOptions();
  const std::string logs = wal_dir();
  if (!logs.empty() && Normal(logs) != Normal(directory_)) {
    files_->HoldDirectory(logs, /*only_logs=*/true);
  }
}

std::string SnapshotFiles::wal_dir() const {
  return is_kept_ ? "" : options_.Value("DBOptions", "wal_dir");
}

void SnapshotFiles::LoadOptions() {
  std::string latest;
  const Status found = rocksdb::GetLatestOptionsFileName(directory_, env_.get(), &latest);
  if (found.ok() && latest == options_.file_name()) return;  // their names are never used again
  OptionsFile options;
  OptionsFile::Load(directory_, env_.get(), &options).PermitUncheckedError();  // may have none
  options_ = std::move(options);
}

// A log that is recycled is overwritten where it is, under another name.
bool SnapshotFiles::LogsAreIntact() const {
  if (logs_ == WriteAheadLogs::kLookEmpty) return true;
  return options_.Value("DBOptions", "recycle_log_file_num") == "0" || files_->LogsAreInPlace();
}

Status SnapshotFiles::TooFast() const {
  return Status::TimedOut("the database in " + directory_ +
                          " has changed its files faster than they can be opened, for " +
                          std::to_string(kPatience.count()) +
                          " minutes.\nTry again when it is less busy, or look at a checkpoint of "
                          "it.");
}

void SnapshotFiles::HoldOnlyFilesOf(rocksdb::DB* db,
                                    const std::vector<rocksdb::ColumnFamilyHandle*>& families) {
  std::set<std::string> names;
  for (rocksdb::ColumnFamilyHandle* family : families) {
    rocksdb::ColumnFamilyMetaData data;
    db->GetColumnFamilyMetaData(family, &data);
    for (const rocksdb::LevelMetaData& level : data.levels) {
      for (const rocksdb::SstFileMetaData& file : level.files) {
        names.insert(file.relative_filename);
      }
    }
    for (const rocksdb::BlobMetaData& file : data.blob_files) {
      names.insert(fs::path(file.blob_file_name).filename());
    }
  }
  files_->HoldOnly(names);
}

Status SnapshotFiles::Keep(const std::string& directory) const {
  const std::string logs = wal_dir();
  if (!logs.empty() && Normal(logs) != Normal(directory_)) {
    return Status::InvalidArgument("the state of " + directory_ +
                                   " cannot be kept: its write-ahead logs are in " + logs);
  }
  std::error_code error;
  if (!fs::create_directories(directory, error)) {
    return Status::IOError("cannot make " + directory, error.message());
  }
  IOStatus status = files_->LinkTo(directory);
  if (status.ok() && !LogsAreIntact()) status = IOStatus::PathNotFound("a log was overwritten");
  if (!status.ok()) fs::remove_all(directory, error);
  return status;
}

uint64_t CountTableFiles(const std::string& directory, bool with_blobs) {
  std::vector<std::string> names;
  if (!ReadOnlyEnv()->GetChildren(directory, &names).ok()) return 0;
  return static_cast<uint64_t>(std::count_if(names.begin(), names.end(), [&](const auto& name) {
    const std::string extension = fs::path(name).extension();
    return extension == ".sst" || (with_blobs && extension == ".blob");
  }));
}

uint64_t FileNumber(const std::string& name) { return std::strtoull(name.c_str(), nullptr, 10); }

uint64_t RaiseOpenFilesLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  const rlimit raised = {limit.rlim_max, limit.rlim_max};
  return setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

}  // namespace rocksieve
