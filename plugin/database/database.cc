// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/database.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <unistd.h>

#include <rocksdb/cache.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include "plugin/database/rocksdb_open.h"
#include "plugin/database/snapshot_files.h"
#include "support/return_if_error.h"

namespace rocksieve {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

constexpr const char kRemedy[] =
    ".\nName the directory that holds CURRENT, MANIFEST-* and *.sst.";

Status Sentence(const std::string& text) { return Status::InvalidArgument(text); }

Status NotReadable(const std::string& path, const std::string& why) {
  return Sentence("cannot read " + path + ": " + why +
                  "\nRun it as the user who owns the database, or on a copy that you may read.");
}

bool LooksLikeTableFile(const fs::path& path) {
  return path.extension() == ".sst" || path.extension() == ".ldb";
}

// RocksDB looks for one by both of its names, and names the second.
bool NamesTableFile(const std::string& text) {
  for (const char* extension : {".sst", ".ldb"}) {
    const size_t place = text.rfind(extension);
    if (place == std::string::npos || place == 0 || text[place + 4] == '/') continue;
    if (std::isdigit(static_cast<unsigned char>(text[place - 1])) != 0) return true;
  }
  return false;
}

Status NoDatabase(const std::string& directory) {
  std::error_code error;
  bool tables = false, manifest = false;
  std::string nested;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    tables = tables || LooksLikeTableFile(entry->path());
    manifest = manifest || entry->path().filename().string().rfind("MANIFEST-", 0) == 0;
    std::error_code ignored;
    if (fs::exists(entry->path() / "CURRENT", ignored)) nested = entry->path().string();
  }
  std::string text = "there is no RocksDB database in " + directory + ": it has no file CURRENT";
  if (tables && manifest) {
    return Sentence(text +
                    ", but table files and a MANIFEST.\nIf CURRENT was lost, write the "
                    "name of the newest MANIFEST and a newline into it, in a copy.");
  }
  if (tables) {
    return Sentence(text + ", but table files.\nSee single ones with: rocksieve inspect FILE.sst");
  }
  if (!nested.empty()) return Sentence(text + ".\nThere is one in " + nested);
  return Sentence(text + kRemedy);
}

}  // namespace

Status CheckIsDatabase(const std::string& directory) {
  std::error_code error;
  const fs::file_status kind = fs::status(directory, error);
  if (kind.type() == fs::file_type::not_found) {
    return Sentence("there is no directory " + directory + kRemedy);
  }
  if (error) return NotReadable(directory, error.message());
  if (kind.type() != fs::file_type::directory) {
    return Sentence(directory +
                    " is no directory.\nName the directory of the database; for one "
                    "table file: rocksieve inspect " +
                    directory);
  }
  if (access(directory.c_str(), R_OK | X_OK) != 0) {
    return NotReadable(directory, std::strerror(errno));
  }
  const std::string current = directory + "/CURRENT";
  if (access(current.c_str(), F_OK) != 0) {
    return errno == ENOENT ? NoDatabase(directory) : NotReadable(current, std::strerror(errno));
  }
  if (access(current.c_str(), R_OK) != 0) return NotReadable(current, std::strerror(errno));
  return Status::OK();
}

namespace {

// Of a MANIFEST that records which logs there are.
bool LacksALog(const std::string& text) {
  return text.find("Missing WAL") != text.npos || text.find("Size mismatch: WAL") != text.npos;
}

}  // namespace

Status ExplainOpenError(const std::string& directory, const Status& status) {
  const std::string text = status.ToString();
  const auto says = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  if (says("Permission denied")) return NotReadable(directory, text);
  if (says("Too many open files")) {
    return Sentence("cannot open " + directory + ": " + text +
                    "\nAllow more open files, for example: ulimit -n 4096");
  }
  // Of a table file, though RocksDB names the MANIFEST.
  if (says("unsupported format_version")) {
    return Sentence("cannot read the rows of the database in " + directory + ": " +
                    text.substr(0, text.find(" in file ")) +
                    "\nA later RocksDB wrote its table files than " +
                    rocksdb::GetRocksVersionAsString() +
                    ", which is in this program: use the rocksieve that was built with that "
                    "release, or serve the rows from inside its own process, by a library call.");
  }
  if (says("WriteUnprepared txn tag")) {
    return LogsNotRead(directory, "is a TransactionDB with WRITE_PREPARED or WRITE_UNPREPARED");
  }
  if (NamesTableFile(text)) {
    return Sentence("cannot open a table file of the database in " + directory + ": " + text +
                    (says("Bad table magic number")
                         ? "\nIf its OPTIONS file has table_factory=PlainTable or CuckooTable, "
                           "nothing is wrong: rocksieve reads rows of block-based tables only."
                         : "") +
                    "\nIf the database is being written to, try again; else restore the file from "
                    "a backup or a replica. All such files: rocksieve doctor --db=" +
                    directory);
  }
  const std::string what = "cannot read the list of files of the database in " + directory + ": ";
  if (says("CURRENT") || status.IsPathNotFound() || says("No such file")) {
    return Sentence(
        what + text +
        "\nCURRENT is damaged, or encrypted by the file system (Env) of its program, or "
        "names a MANIFEST that is not there.\nIf the database is being written to, try "
        "again; else restore it, or repair a copy: ldb repair --db=COPY");
  }
  if (says("overlapping ranges") || says("out of order")) {
    return Sentence(what + text +
                    "\nEither its MANIFEST is damaged, or its comparator is not in this program, "
                    "so that files in order look out of order.\nSee single files with: rocksieve "
                    "inspect FILE.sst");
  }
  if (LacksALog(text)) {
    return Sentence(what + text +
                    "\nThe MANIFEST records a write-ahead log that is not there as it should be: "
                    "the database is a copy without its logs (wal_dir), or the log is damaged.");
  }
  if (says("does not match existing comparator")) {
    return Sentence(what + text +
                    "\nIts OPTIONS file does not name the comparator; without it "
                    "the database cannot be opened.");
  }
  if (status.IsCorruption()) {
    return Sentence(what + text +
                    "\nThe MANIFEST is damaged, or encrypted by the file system (Env) of its "
                    "program, or of a later RocksDB than " +
                    rocksdb::GetRocksVersionAsString() +
                    ", which is in this program. Restore it, or repair a copy: ldb repair "
                    "--db=COPY");
  }
  return Sentence(what + text);
}

Status NoSuchColumnFamily(const std::string& directory, const std::string& name,
                          const std::vector<std::string>& existing) {
  std::string list;
  for (const std::string& other : existing) list += (list.empty() ? "" : ", ") + other;
  return Sentence("the database in " + directory + " has no column family \"" + name +
                  "\".\nIt has: " + list);
}

Status LogsNotRead(const std::string& directory, const std::string& what) {
  return Sentence("the database in " + directory + " " + what +
                  ", and its logs are not read here.\nServe it from inside its process, by a "
                  "library call.");
}

namespace {

constexpr int kFewOpenFiles = 500;
constexpr size_t kCacheBytes = 32 << 20;
constexpr size_t kMostTablesLearnedFrom = 1000;

// Keys are wanted, not values: any merge operator will do, but without one RocksDB ends the
// process.
class AnyMergeOperator final : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "rocksieve.AnyMergeOperator"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice*, const rocksdb::Slice& value,
             std::string* result, rocksdb::Logger*) const override {
    result->assign(value.data(), value.size());
    return true;
  }
};

rocksdb::DBOptions LookOnlyOptions(rocksdb::Env* env, const std::string& wal_dir = "",
                                   bool hold_files = false) {
  rocksdb::DBOptions options;
  options.env = env;
  std::error_code error;
  if (fs::is_directory(wal_dir, error)) options.wal_dir = wal_dir;
  // Errors of table files are for those who read them: the list of files is wanted anyhow.
  options.paranoid_checks = false;
  options.skip_stats_update_on_db_open = true;
#if ROCKSDB_MAJOR < 11  // later ones look at no sizes without paranoid_checks
  options.skip_checking_sst_file_sizes_on_db_open = true;
#endif
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
  options.num_levels = kMostLevels;
  options.force_consistency_checks = false;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

struct ComparatorMismatch {
  std::string ours, theirs;
};

// "OURS: does not match existing comparator THEIRS", of VersionEditHandler, RocksDB 7.8. Empty
// names if that is not what is wrong.
ComparatorMismatch MismatchIn(const Status& status) {
  constexpr std::string_view kWords = ": does not match existing comparator ";
  const std::string text = MessageOf(status);
  const size_t at = text.find(kWords);
  if (at == std::string::npos) return {};
  return {text.substr(0, at), text.substr(at + kWords.size())};
}

// Without an OPTIONS file: comparators by the names in tables, which know as well whether their
// keys have timestamps. The MANIFEST has the last word on names (OpenFiles()).
void LearnFromTables(const std::string& directory, rocksdb::Env* env,
                     std::vector<ColumnFamily>* families) {
  std::vector<std::string> names;
  if (!env->GetChildren(directory, &names).ok()) return;
  size_t left = kMostTablesLearnedFrom;
  for (const std::string& name : names) {
    if (fs::path(name).extension() != ".sst" || left == 0) continue;
    left--;
    std::unique_ptr<TableFile> table;
    if (!TableFile::Open(env, directory + "/" + name, &table).ok()) continue;
    const TableProperties& learned = table->properties();
    for (ColumnFamily& family : *families) {
      if (family.name != learned.column_family_name || learned.comparator_name.empty()) continue;
      family.persist_timestamps = learned.timestamps_persisted;
      SetComparator(learned.comparator_name, &family);
    }
  }
}

}  // namespace

void OpenHandles::Close() {
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    if (db != nullptr) db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  handles.clear();
  db.reset();
  families.clear();
}

Status Database::Open(const std::string& directory, const std::vector<std::string>& wanted,
                      std::unique_ptr<Database>* result) {
  RETURN_IF_ERROR(CheckIsDatabase(directory));
  std::unique_ptr<Database> database(new Database);
  database->directory_ = directory;
  database->holds_files_ = CountTableFiles(directory) + kOtherOpenFiles < RaiseOpenFilesLimit();
  database->files_ = std::make_shared<SnapshotFiles>(directory, WriteAheadLogs::kLookEmpty,
                                                     database->holds_files_);
  RETURN_IF_ERROR(database->files_->Look([&](bool* explained) {
    database->open_.Close();
    return database->OpenOnce(wanted, explained);
  }));
  if (!wanted.empty()) database->KeepOnly(wanted);
  database->files_->HoldOnlyFilesOf(database->open_.db.get(), database->open_.handles);
  database->MeasureWriteAheadLogs();
  *result = std::move(database);
  return Status::OK();
}

Status Database::OpenOnce(const std::vector<std::string>& wanted, bool* explained) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(
      rocksdb::DB::ListColumnFamilies(LookOnlyOptions(files_->env()), directory_, &names));
  for (const std::string& name : wanted) {
    if (std::count(names.begin(), names.end(), name) > 0) continue;
    *explained = true;
    return NoSuchColumnFamily(directory_, name, names);
  }
  // Without an OPTIONS file, defaults: an old database, or a copy of the table files and MANIFEST.
  for (const std::string& name : names)
    open_.families.push_back(DescribeColumnFamily(name, options()));
  if (options().file_name().empty()) LearnFromTables(directory_, files_->env(), &open_.families);
  return OpenFiles();
}

Status Database::OpenFiles() {
  Status status;
  std::string wal_dir;  // asked for only where it matters: a copy's may be those of the original
  for (size_t tries = 0; tries <= open_.families.size() + 1; tries++) {
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    const auto cache = rocksdb::NewLRUCache(kCacheBytes);
    for (const ColumnFamily& family : open_.families) {
      descriptors.emplace_back(family.name, LookOnlyOptions(family, cache));
    }
    status = rocksdb::DB::OpenForReadOnly(LookOnlyOptions(files_->env(), wal_dir, holds_files_),
                                          directory_, descriptors, &open_.handles, Into(&open_.db));
    if (wal_dir.empty() && LacksALog(status.ToString())) {
      wal_dir = options().Value("DBOptions", "wal_dir");
      if (!wal_dir.empty()) continue;
    }
    // The OPTIONS file is lost, or not of this database: the MANIFEST knows better.
    const ComparatorMismatch mismatch = MismatchIn(status);
    if (mismatch.theirs.empty()) break;
    for (ColumnFamily& family : open_.families) {
      if (family.comparator_name == mismatch.ours) SetComparator(mismatch.theirs, &family);
    }
  }
  return status;
}

void Database::KeepOnly(const std::vector<std::string>& wanted) {
  for (size_t i = open_.families.size(); i-- > 0;) {
    if (std::count(wanted.begin(), wanted.end(), open_.families[i].name) > 0) continue;
    open_.db->DestroyColumnFamilyHandle(open_.handles[i]).PermitUncheckedError();
    open_.handles.erase(open_.handles.begin() + static_cast<ptrdiff_t>(i));
    open_.families.erase(open_.families.begin() + static_cast<ptrdiff_t>(i));
  }
}

void Database::MeasureWriteAheadLogs() {
  const std::string named = options().Value("DBOptions", "wal_dir");
  std::error_code error;
  for (fs::directory_iterator entry(named.empty() ? directory_ : named, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == ".log") {
      const uint64_t bytes = fs::file_size(entry->path(), ignored);
      if (ignored || bytes == 0) continue;
      write_ahead_log_bytes_ += bytes;
      oldest_write_ahead_log_ =
          std::min(oldest_write_ahead_log_, FileNumber(entry->path().filename()));
    }
  }
}

}  // namespace rocksieve
