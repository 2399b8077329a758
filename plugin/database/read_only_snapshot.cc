// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/read_only_snapshot.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/transaction_log.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lib/format/coding.h"
#include "plugin/database/batch_handler.h"
#include "plugin/database/column_family.h"
#include "plugin/database/rocksdb_open.h"
#include "support/files.h"
#include "support/return_if_error.h"

namespace rocksieve {
namespace {

constexpr size_t kViewCacheBytes = 8 << 20;

using rocksdb::Status;

// Fails each merge, where RocksDB without any operator would end the process.
class UnknownMergeOperator final : public rocksdb::MergeOperator {
 public:
  const char* Name() const override { return "rocksieve.UnknownMergeOperator"; }
  bool FullMergeV2(const MergeOperationInput&, MergeOperationOutput*) const override {
    return false;
  }
};

// Looks at the logs of a TransactionDB while they are read.
class TransactionLogs final : public rocksdb::WalFilter {
 public:
  explicit TransactionLogs(TransactionLogFacts* facts) : facts_(facts) {}

  const char* Name() const override { return "rocksieve.TransactionLogs"; }
  WalProcessingOption LogRecordFound(unsigned long long log, const std::string&,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*,
                                     bool*) override {
    if (facts_->first_log == 0) facts_->first_log = log;
    Marks marks;
    const bool is_prepared = !batch.Iterate(&marks).ok() || marks.prepares;
    facts_->has_prepared |= is_prepared;
    const uint64_t sequence = LoadLittleEndian64(batch.Data().data());
    if (sequence < next_sequence_ && !is_prepared) {
      // One sequence number for all keys of a batch: later ones would come before earlier ones.
      facts_->unread = "is a TransactionDB with WRITE_PREPARED or WRITE_UNPREPARED";
    } else if (marks.commits_with_timestamp) {
      // For which MemTableInserter needs all column families.
      facts_->unread = "has prepared transactions that were committed with timestamps";
    }
    if (!is_prepared) next_sequence_ = sequence + batch.Count();
    return facts_->unread.empty() ? WalProcessingOption::kContinueProcessing
                                  : WalProcessingOption::kStopReplay;
  }

 private:
  struct Marks final : public BatchHandler {
    Status MarkBeginPrepare(bool) override {
      prepares = true;
      return Status::OK();
    }
    Status MarkCommitWithTimestamp(const Slice&, const Slice&) override {
      commits_with_timestamp = true;
      return Status::OK();
    }
    bool prepares = false, commits_with_timestamp = false;
  };

  TransactionLogFacts* const facts_;
  uint64_t next_sequence_ = 0;
};

rocksdb::DBOptions SnapshotOptions(const SnapshotFiles& files) {
  rocksdb::DBOptions options;
  options.env = files.env();
  options.wal_dir = files.wal_dir();
  options.max_open_files = -1;  // holds all of them from the start
  options.skip_stats_update_on_db_open = true;
  options.track_and_verify_wals_in_manifest = true;  // as in database.cc
  // Of a TransactionDB. Else RocksDB refuses logs with prepared transactions, or ends the process.
  options.allow_2pc = files.options().Value("DBOptions", "allow_2pc") == "true";
  return options;
}

// Of all views of the process, so that a server's memory does not grow with their number.
const std::shared_ptr<rocksdb::Cache>& SharedCache() {
  static const auto* const cache =
      new std::shared_ptr<rocksdb::Cache>(rocksdb::NewLRUCache(kViewCacheBytes));
  return *cache;
}

// Names the merge operator if this program does not have it.
rocksdb::ColumnFamilyOptions SnapshotOptions(const ColumnFamily& family, const OptionsFile& file,
                                             std::string* unknown_merge_operator) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = nullptr;  // scans do not ask filters
  table.cache_index_and_filter_blocks = true;
  table.block_cache = SharedCache();
  rocksdb::ColumnFamilyOptions options;
  options.comparator = family.comparator.get();
  options.num_levels = kMostLevels;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const std::string name = file.ColumnFamilyValue(family.name, "merge_operator");
  const bool named = !name.empty() && name != "nullptr";
  const bool made = named && rocksdb::MergeOperator::CreateFromString(rocksdb::ConfigOptions(),
                                                                      name, &options.merge_operator)
                                 .ok();
  if (!made || options.merge_operator == nullptr) {
    options.merge_operator = std::make_shared<UnknownMergeOperator>();
    *unknown_merge_operator = named ? name : "one that its OPTIONS file does not name";
  }
  return options;
}

Status CheckOpenFilesLimit(const std::string& directory) {
  const uint64_t tables = CountTableFiles(directory, /*with_blobs=*/true);
  const uint64_t limit = RaiseOpenFilesLimit();
  if (tables + kOtherOpenFiles < limit) return Status::OK();
  return Status::InvalidArgument(
      "the database in " + directory + " has " + std::to_string(tables) +
      " files, and this process may have " + std::to_string(limit) +
      " open.\nA frozen view holds all of them: raise the limit with ulimit -n.");
}

// Their logs have keys with timestamps, their files keys without.
Status StrippedTimestamps(const std::string& directory, const std::string& column_family) {
  return Status::NotSupported("the column family " + column_family + " in " + directory +
                              " keeps user-defined timestamps in memory only "
                              "(persist_user_defined_timestamps=false), which "
                              "a join does not understand.\nExport its rows, and join those.");
}

// Rows would be left out.
Status UnknownOrder(const std::string& directory, const ColumnFamily& family) {
  return Status::NotSupported("the column family " + family.name + " in " + directory +
                              " orders its keys by " + family.comparator_name +
                              ", which this program does not have.\nServe it from inside its "
                              "process, by a library call.");
}

Status UnknownMerges(const std::string& directory, const std::string& merge_operator) {
  return Status::NotSupported(
      "the database in " + directory + " holds merges, which need its merge operator (" +
      merge_operator +
      "); this program does not have it.\nServe it from inside its process, by a "
      "library call, or compact it first.");
}

namespace fs = std::filesystem;

constexpr size_t kNameBytes = 16, kMostKept = 4;
constexpr char kLastWrite[] = "LAST-WRITE";  // of a kept state: its sequence number
constexpr char kUnfinished[] = ".unfinished";
constexpr std::chrono::hours kUnfinishedFor{1};  // then nobody will finish it

std::string NewName() {
  std::random_device random;
  std::string bytes;
  for (size_t i = 0; i < kNameBytes; i++) bytes.push_back(static_cast<char>(random()));
  return rocksdb::Slice(bytes).ToString(/*hex=*/true);
}

bool IsName(const std::string& name) {
  return name.size() == 2 * kNameBytes &&
         name.find_first_not_of("0123456789ABCDEF") == std::string::npos;
}

// Under another name first: nobody opens a state of which a part is gone.
void Remove(const fs::path& path) {
  std::error_code error;
  const fs::path dropped =
      path.extension() == kUnfinished ? path : fs::path(path.string() + kUnfinished);
  fs::rename(path, dropped, error);
  fs::remove_all(error ? path : dropped, error);
}

Status WriteFile(const std::string& path, const std::string& text) {
  std::string error;
  const std::unique_ptr<PendingFile> file = PendingFile::Create(path, &error);
  if (file != nullptr && file->Append(text, &error) && file->Publish(&error) == 0) {
    return Status::OK();
  }
  return Status::IOError(error);
}

}  // namespace

Status ReadOnlySnapshot::Open(const std::string& directory, const std::string& column_family,
                              std::unique_ptr<ReadOnlySnapshot>* view,
                              const std::shared_ptr<rocksdb::RateLimiter>& rate_limiter,
                              const std::string& keep_in, bool is_kept) {
  Status status = CheckIsDatabase(directory);
  if (status.ok()) status = CheckOpenFilesLimit(directory);
  if (!status.ok()) return status;
  std::unique_ptr<ReadOnlySnapshot> opened(new ReadOnlySnapshot);
  opened->files_ = std::make_unique<SnapshotFiles>(directory, WriteAheadLogs::kAreRead,
                                                   /*hold_tables=*/true, is_kept);
  // Of an owner that deletes its files faster than they can be linked, a later state.
  constexpr int kMostStates = 10;
  for (int i = 0; i < kMostStates; i++) {
    status = opened->files_->Look([&](bool* explained) {
      opened->open_.Close();
      return opened->OpenOnce(directory, column_family, rate_limiter, explained);
    });
    if (!status.ok()) return status;
    // Of blobs too, which RocksDB opens only when they are read.
    opened->files_->HoldOnlyFilesOf(opened->open_.db.get(), opened->open_.handles);
    if (!keep_in.empty()) status = opened->files_->Keep(keep_in);
    if (!status.IsPathNotFound()) break;
  }
  // The last write that it has: of a log that is cut off or overwritten, RocksDB says nothing.
  const std::string last = std::to_string(opened->db()->GetLatestSequenceNumber());
  if (status.ok() && !keep_in.empty()) status = WriteFile(keep_in + "/" + kLastWrite, last);
  if (!status.ok() && !keep_in.empty()) Remove(keep_in);
  if (!status.ok()) return status;
  if (is_kept) {
    std::string kept;
    rocksdb::ReadFileToString(ReadOnlyEnv(), directory + "/" + kLastWrite, &kept)
        .PermitUncheckedError();
    if (kept.empty()) return Status::NotFound("an earlier version kept it");
    if (kept != last) return Status::NotFound("its logs are not as they were");
  }
  *view = std::move(opened);
  return status;
}

std::string ReadOnlySnapshot::MergeOperatorName() const {
  return rocksieve::MergeOperatorName(open_.families.back().name, files_->options());
}

bool ReadOnlySnapshot::MayHavePreparedTransactions() const {
  if (transaction_logs_ == nullptr) return false;
  // Those that had not to be read too, such as archived ones.
  rocksdb::VectorLogPtr logs;
  if (log_facts_.has_prepared || !db()->GetSortedWalFiles(logs).ok()) return true;
  return std::any_of(logs.begin(), logs.end(),
                     [&](const auto& log) { return log->LogNumber() < log_facts_.first_log; });
}

Status ReadOnlySnapshot::OpenOnce(const std::string& directory, const std::string& column_family,
                                  const std::shared_ptr<rocksdb::RateLimiter>& rate_limiter,
                                  bool* explained) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(rocksdb::DB::ListColumnFamilies(SnapshotOptions(*files_), directory, &names));
  if (std::count(names.begin(), names.end(), column_family) == 0) {
    *explained = true;
    return NoSuchColumnFamily(directory, column_family, names);
  }
  const OptionsFile& file = files_->options();
  std::string unknown_merge_operator;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& name : {std::string("default"), column_family}) {
    if (!descriptors.empty() && descriptors.back().name == name) continue;
    unknown_merge_operator.clear();
    open_.families.push_back(DescribeColumnFamily(name, file));
    if (name == column_family && open_.families.back().timestamps_stripped) {
      *explained = true;
      return StrippedTimestamps(directory, column_family);
    }
    if (name == column_family && !open_.families.back().comparator_known) {
      *explained = true;
      return UnknownOrder(directory, open_.families.back());
    }
    descriptors.emplace_back(name,
                             SnapshotOptions(open_.families.back(), file, &unknown_merge_operator));
  }
  rocksdb::DBOptions options = SnapshotOptions(*files_);
  options.rate_limiter = rate_limiter;
  if (options.allow_2pc) {
    log_facts_ = {};
    transaction_logs_ = std::make_unique<TransactionLogs>(&log_facts_);
    options.wal_filter = transaction_logs_.get();
  }
  Status status = rocksdb::DB::OpenForReadOnly(options, directory, descriptors, &open_.handles,
                                               Into(&open_.db));
  if (!log_facts_.unread.empty()) {
    *explained = true;
    return LogsNotRead(directory, log_facts_.unread);
  }
  if (!status.ok() || unknown_merge_operator.empty()) return status;
  rocksdb::TablePropertiesCollection tables;
  status = open_.db->GetPropertiesOfAllTables(open_.handles.back(), &tables);
  for (const auto& [path, properties] : tables) {
    if (properties->num_merge_operands == 0) continue;
    *explained = true;
    return UnknownMerges(directory, unknown_merge_operator);
  }
  return status;
}

std::string NameOrHash(const std::string& name, size_t more_bytes) {
  constexpr size_t kMostBytes = 255;
  if (name.size() + more_bytes <= kMostBytes) return name;
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits(name.data(), name.size()));
  const auto* bytes = reinterpret_cast<const char*>(hash.digest);
  return "xxh3-" + rocksdb::Slice(bytes, sizeof(hash.digest)).ToString(/*hex=*/true);
}

std::string KeptStates::FolderOf(const std::string& column_family) const {
  const std::string name = rocksdb::Slice(column_family).ToString(/*hex=*/true);
  return directory_ + "/" + NameOrHash(name, 0);
}

Status KeptStates::OpenAndKeep(const std::string& database, const std::string& column_family,
                               const RateLimiterPtr& rate_limiter,
                               std::unique_ptr<ReadOnlySnapshot>* state, std::string* name) const {
  *name = NewName();
  const fs::path kept = fs::path(FolderOf(column_family)) / *name;
  const fs::path unfinished = kept.string() + kUnfinished;
  RETURN_IF_ERROR(ReadOnlySnapshot::Open(database, column_family, state, rate_limiter, unfinished));
  std::error_code error;
  fs::rename(unfinished, kept, error);
  if (error) return Status::IOError("cannot keep a state as " + kept.string(), error.message());
  DropOld(column_family);
  return Status::OK();
}

Status KeptStates::Open(const std::string& name, const std::string& column_family,
                        const RateLimiterPtr& rate_limiter,
                        std::unique_ptr<ReadOnlySnapshot>* state) const {
  if (!IsName(name)) return Status::NotFound("no state has such a name");
  const Status status = ReadOnlySnapshot::Open(FolderOf(column_family) + "/" + name, column_family,
                                               state, rate_limiter, /*keep_in=*/"",
                                               /*is_kept=*/true);
  if (status.ok()) return status;
  return Status::NotFound("the state " + name + " of the column family " + column_family +
                          " is not kept any more: " + MessageOf(status));
}

void KeptStates::Drop(const std::string& name, const std::string& column_family) const {
  if (IsName(name)) Remove(fs::path(FolderOf(column_family)) / name);
}

void KeptStates::DropOld(const std::string& column_family) const {
  std::vector<std::pair<fs::file_time_type, fs::path>> states;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& entry : fs::directory_iterator(FolderOf(column_family), error)) {
    const fs::file_time_type written = entry.last_write_time(error);
    if (error) continue;  // somebody else dropped it
    if (IsName(entry.path().filename())) {
      states.emplace_back(written, entry.path());
    } else if (entry.path().extension() == kUnfinished && now - written > kUnfinishedFor) {
      Remove(entry.path());
    }
  }
  std::sort(states.rbegin(), states.rend());
  for (size_t i = kMostKept; i < states.size(); i++) Remove(states[i].second);
}

}  // namespace rocksieve
