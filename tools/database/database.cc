#include "database/database.h"

#include <algorithm>
#include <filesystem>

#include <rocksdb/cache.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include "database/open_errors.h"
#include "database/open_files_limit.h"
#include "database/read_only_env.h"

namespace rocksieve::tools {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

constexpr int kAttempts = 5;  // a living database may replace its MANIFEST while we read it
constexpr int kMostLevels = 64;
constexpr int kFewOpenFiles = 500;
constexpr uint64_t kOtherOpenFiles = 100;
constexpr size_t kCacheBytes = 32 << 20;

// Keys are wanted, not values: any merge operator will do, but without one RocksDB ends the process.
class AnyMergeOperator final : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "rocksieve.AnyMergeOperator"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice*, const rocksdb::Slice& value,
             std::string* result, rocksdb::Logger*) const override {
    result->assign(value.data(), value.size());
    return true;
  }
};

rocksdb::DBOptions LookOnlyOptions(bool hold_files = false) {
  rocksdb::DBOptions options;
  options.env = ReadOnlyEnv();
  // Errors of table files are for those who read them: the list of files is wanted anyhow.
  options.paranoid_checks = false;
  options.skip_stats_update_on_db_open = true;
  options.skip_checking_sst_file_sizes_on_db_open = true;
  options.max_open_files = hold_files ? -1 : kFewOpenFiles;
  // Else RocksDB 7.8.3 wants to record in the MANIFEST that it has forgotten the logs tracked
  // there, and crashes since a read-only database cannot (DBImpl::Recover).
  options.track_and_verify_wals_in_manifest = true;
  return options;
}

rocksdb::ColumnFamilyOptions LookOnlyOptions(const ColumnFamily& family,
                                             const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = nullptr;  // filters are read by ourselves
  // Files are opened without their indexes, of which a large database has gigabytes.
  table.cache_index_and_filter_blocks = true;
  table.block_cache = cache;
  rocksdb::ColumnFamilyOptions options;
  options.comparator = family.comparator.get();
  options.prefix_extractor = family.prefix_extractor;
  options.merge_operator = std::make_shared<AnyMergeOperator>();
  options.num_levels = kMostLevels;  // at least as many as the database has
  options.force_consistency_checks = false;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

uint64_t CountTableFiles(const std::string& directory) {
  std::vector<std::string> names;
  if (!ReadOnlyEnv()->GetChildren(directory, &names).ok()) return 0;
  return static_cast<uint64_t>(std::count_if(names.begin(), names.end(), [](const auto& name) {
    return fs::path(name).extension() == ".sst";
  }));
}

// "... does not match existing comparator NAME", of VersionEditHandler, RocksDB 7.8.
std::string ComparatorNamedBy(const Status& status) {
  constexpr std::string_view kWords = "does not match existing comparator ";
  const std::string text = status.ToString();
  const size_t at = text.find(kWords);
  return at == std::string::npos ? "" : text.substr(at + kWords.size());
}

}  // namespace

Database::~Database() {
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    if (db_ != nullptr) db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
}

Status Database::Open(const std::string& directory, const std::vector<std::string>& wanted,
                      std::unique_ptr<Database>* result) {
  Status status = CheckIsDatabase(directory);
  if (!status.ok()) return status;
  for (int attempt = 0; attempt < kAttempts; attempt++) {
    std::vector<std::string> names;
    status = rocksdb::DB::ListColumnFamilies(LookOnlyOptions(), directory, &names);
    if (!status.ok()) continue;
    for (const std::string& name : wanted) {
      if (std::count(names.begin(), names.end(), name) == 0) {
        return NoSuchColumnFamily(directory, name, names);
      }
    }
    std::unique_ptr<Database> database(new Database);
    database->directory_ = directory;
    // RocksDB holds each file, and so do those who read its filter.
    database->holds_files_ =
        2 * CountTableFiles(directory) + kOtherOpenFiles < RaiseOpenFilesLimit();
    // Without one, defaults: an old database, or a copy of the table files and the MANIFEST.
    OptionsFile::Load(directory, &database->options_).PermitUncheckedError();
    for (const std::string& name : names) {
      database->families_.push_back(DescribeColumnFamily(name, database->options_));
    }
    status = database->OpenFiles();
    if (!status.ok()) continue;
    if (!wanted.empty()) database->KeepOnly(wanted);
    database->MeasureWriteAheadLogs();
    *result = std::move(database);
    return status;
  }
  return ExplainOpenError(directory, status);
}

Status Database::OpenFiles() {
  Status status;
  for (size_t tries = 0; tries <= families_.size(); tries++) {
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    const auto cache = rocksdb::NewLRUCache(kCacheBytes);
    for (const ColumnFamily& family : families_) {
      descriptors.emplace_back(family.name, LookOnlyOptions(family, cache));
    }
    rocksdb::DB* opened = nullptr;
    status = rocksdb::DB::OpenForReadOnly(LookOnlyOptions(holds_files_), directory_, descriptors, &handles_,
                                          &opened);
    db_.reset(opened);
    const std::string comparator = ComparatorNamedBy(status);
    if (comparator.empty()) break;
    for (ColumnFamily& family : families_) {
      const bool said = !options_.ColumnFamilyValue(family.name, "comparator").empty();
      if (!said) SetComparator(comparator, &family);
    }
  }
  return status;
}

void Database::KeepOnly(const std::vector<std::string>& wanted) {
  for (size_t i = families_.size(); i-- > 0;) {
    if (std::count(wanted.begin(), wanted.end(), families_[i].name) > 0) continue;
    db_->DestroyColumnFamilyHandle(handles_[i]).PermitUncheckedError();
    handles_.erase(handles_.begin() + static_cast<ptrdiff_t>(i));
    families_.erase(families_.begin() + static_cast<ptrdiff_t>(i));
  }
}

void Database::MeasureWriteAheadLogs() {
  const std::string named = options_.Value("DBOptions", "wal_dir");
  std::error_code error;
  for (fs::directory_iterator entry(named.empty() ? directory_ : named, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".log") {
      const uint64_t bytes = fs::file_size(entry->path(), ignored);
      if (!ignored) write_ahead_log_bytes_ += bytes;
    }
  }
}

}  // namespace rocksieve::tools
