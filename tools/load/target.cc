// SPDX-License-Identifier: Apache-2.0
#include "tools/load/target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include <rocksdb/convenience.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksieve/listener.h>
#include <rocksieve/range.h>

#include "plugin/database/policy_spec.h"
#include "plugin/database/rocksdb_open.h"
#include "support/return_if_error.h"
#include "support/work_dir.h"

namespace rocksieve::tools {
namespace {

namespace fs = std::filesystem;
using rocksdb::BlockBasedTableOptions;
using rocksdb::Status;

// Small files and levels, so that some million lines make a tree of several levels.
rocksdb::Options NewDatabaseOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 16 << 20;
  options.max_write_buffer_number = 4;
  options.target_file_size_base = 16 << 20;
  options.max_bytes_for_level_base = 64 << 20;
  options.level_compaction_dynamic_level_bytes = true;
  options.max_background_jobs = static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  return options;
}

Status SetPolicy(const std::string& spec, bool partitioned, rocksdb::ColumnFamilyOptions* options) {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  RETURN_IF_ERROR(NewPolicy(spec, &policy));
  const auto* table = options->table_factory->GetOptions<BlockBasedTableOptions>();
  if (table == nullptr) {
    return Status::InvalidArgument(std::string("its tables are of the kind ") +
                                   options->table_factory->Name() +
                                   ", which has no such filters; only block-based tables have");
  }
  BlockBasedTableOptions with_policy = *table;
  with_policy.filter_policy = std::move(policy);
  if (partitioned) {
    with_policy.partition_filters = true;
    with_policy.index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
  }
  PolicySpec parsed;
  if (PolicySpec::Parse(spec, &parsed).ok() && parsed.answers_ranges() &&
      options->prefix_extractor == nullptr &&
      options->comparator == rocksdb::BytewiseComparator()) {
    RETURN_IF_ERROR(ConfigureRangeFilters(spec, options, &with_policy));
  }
  options->table_factory.reset(rocksdb::NewBlockBasedTableFactory(with_policy));
  return Status::OK();
}

// "" if it has none.
std::string PolicyName(const rocksdb::ColumnFamilyOptions& options) {
  const auto* table = options.table_factory->GetOptions<BlockBasedTableOptions>();
  return table == nullptr || table->filter_policy == nullptr ? "" : table->filter_policy->Name();
}

// Makes rocksieve.auto exact; other policies take no notice of it.
void AddListener(const std::string& spec, rocksdb::DBOptions* options) {
  const bool is_auto = spec.rfind("rocksieve.auto", 0) == 0;
  if (is_auto && options->listeners.empty()) options->listeners.push_back(NewListener());
}

template <typename Predicate>
bool AnyFileOf(const fs::path& directory, const Predicate& is_wanted) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_wanted(entry->path())) return true;
  }
  return false;
}

// The database that RocksDB wrote this info LOG of, as its head says; empty if it does not.
fs::path DatabaseOfLog(const fs::path& log) {
  std::string head(64 << 10, '\0');
  std::ifstream(log).read(head.data(), static_cast<std::streamsize>(head.size()));
  const std::string before = "SST files in ";
  const size_t start = head.find(before), end = head.find(" dir, Total Num: ", start);
  if (end == std::string::npos) return {};
  return head.substr(start + before.size(), end - start - before.size());
}

// Why opening it would lose what is in write-ahead logs, and what to do; empty if it would not. The
// LOG of a copy names the original, and a checkpoint has none. RocksDB always leaves a log.
std::string LogsAtRisk(const rocksdb::DBOptions& options, const TargetOptions& wanted) {
  std::error_code error;
  if (options.wal_dir.empty() || fs::equivalent(options.wal_dir, wanted.directory, error)) {
    return "";
  }
  const auto is_log = [](const fs::path& file) { return file.extension() == ".log"; };
  if (!AnyFileOf(options.wal_dir, is_log)) {
    return ", and there are none: opening it would lose what they have. Bring them back; if it is "
           "a copy without logs, make wal_dir in the OPTIONS file empty.";
  }
  if (AnyFileOf(wanted.directory, [&](const fs::path& file) {
        return is_log(file) && fs::file_size(file, error) > 0;
      })) {
    return ", but logs are beside its files too: make wal_dir in the OPTIONS file empty.";
  }
  const fs::path named = DatabaseOfLog(fs::path(wanted.directory) / "LOG");
  const bool was_moved = named.is_absolute() && !fs::exists(named / "CURRENT", error);
  const bool are_its_own = !wanted.own_logs_only &&
                           (fs::equivalent(named, wanted.directory, error) || was_moved ||
                            AnyFileOf(options.db_log_dir, [&](const fs::path& log) {
                              return fs::equivalent(DatabaseOfLog(log), wanted.directory, error);
                            }));
  return are_its_own
             ? ""
             : ". If it is a copy, they are those of another database, and opening it would take "
               "them away: make wal_dir in the OPTIONS file empty. Else let the program that owns "
               "it write.";
}

Status CannotOpen(const std::string& directory, const Status& status) {
  const std::string text = status.ToString();
  std::string remedy;
  if (text.find("While lock file") != std::string::npos) {
    remedy = "\nAnother process has it open: let it close the database first.";
  } else if (text.find("Permission denied") != std::string::npos ||
             text.find("Read-only file system") != std::string::npos) {
    remedy = "\nName a directory where you may write with --db=DIR.";
  } else if (text.find("Too many open files") != std::string::npos) {
    remedy = "\nAllow more open files, for example: ulimit -n 4096";
  } else if (text.find("No space left") != std::string::npos ||
             text.find("File too large") != std::string::npos) {
    remedy = "\nFree some space, or name a directory on another disk with --db=DIR.";
  } else if (text.find("mkdir") != std::string::npos) {
    remedy = "\nThe directory above it must exist.";
  }
  return Status::IOError("cannot open the database " + directory + ": " + text + remedy);
}

}  // namespace

Status Target::Open(const TargetOptions& options, std::unique_ptr<Target>* result) {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const bool as_it_is = options.add && options.spec.empty();
  RETURN_IF_ERROR(as_it_is ? Status::OK() : NewPolicy(options.spec, &policy));
  std::error_code error;
  const fs::path path = options.directory;
  const bool is_database = fs::exists(path / "CURRENT", error);
  if (is_database && !options.add) {
    return Status::InvalidArgument("there is a database in " + options.directory +
                                   " already: add to it with --add, or name another directory");
  }
  if (!is_database && options.add) {
    return Status::InvalidArgument("there is no database in " + options.directory + " to add to" +
                                   (as_it_is ? "" : ": without --add one is made"));
  }
  if (!is_database && fs::exists(path, error) &&
      !(fs::is_directory(path, error) && fs::is_empty(path, error))) {
    return Status::InvalidArgument(options.directory +
                                   " is not an empty directory, and what is "
                                   "there might be yours: name another one with --db=DIR");
  }
  std::unique_ptr<Target> target(new Target);
  Status status = options.add ? target->OpenExisting(options) : target->OpenNew(options);
  if (status.ok()) *result = std::move(target);
  return status;
}

// What was made of a database that could not be made would be in the way of the next attempt.
// DestroyDB() takes the lock first, so that nothing of another process goes.
void Target::Destroy(const std::string& directory, bool with_directory) {
  std::error_code error;
  const fs::perms mode = fs::status(directory, error).permissions();
  open_.Close();
  rocksdb::DestroyDB(directory, rocksdb::Options()).PermitUncheckedError();
  if (!with_directory && fs::create_directory(directory, error)) {
    fs::permissions(directory, mode, error);
  }
}

Status Target::OpenNew(const TargetOptions& wanted) {
  rocksdb::Options options;
  rocksdb::ConfigOptions strict;
  strict.ignore_unsupported_options = false;
  Status status =
      rocksdb::GetOptionsFromString(strict, NewDatabaseOptions(), wanted.option_string, &options);
  if (!status.ok()) return Status::InvalidArgument("--options: " + status.ToString());
  RETURN_IF_ERROR(SetPolicy(wanted.spec, wanted.partitioned, &options));
  AddListener(wanted.spec, &options);
  std::error_code error;
  const bool is_new = !fs::exists(wanted.directory, error);
  const auto announced = is_new ? WorkDir::Announce(wanted.directory) : nullptr;
  status = rocksdb::DB::Open(options, wanted.directory, {{"default", options}}, &open_.handles,
                             Into(&open_.db));
  if (status.ok()) status = FindOrMakeFamily(wanted.column_family, options);
  if (status.ok()) return status;
  Destroy(wanted.directory, is_new);
  return CannotOpen(wanted.directory, status);
}

Status Target::OpenExisting(const TargetOptions& wanted) {
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  // Else RocksDB would leave out what this process does not have, such as a merge operator, and
  // write the options without it.
  rocksdb::ConfigOptions strict;
  strict.ignore_unsupported_options = false;
  Status status = rocksdb::LoadLatestOptions(strict, wanted.directory, &options, &families);
  if (!status.ok()) {
    return Status::InvalidArgument(
        "cannot open " + wanted.directory + " with its options: " + status.ToString() +
        (wanted.spec.empty() ? "" : "\nLoad into a new database instead."));
  }
  const std::string at_risk = LogsAtRisk(options, wanted);
  if (!at_risk.empty()) {
    return Status::InvalidArgument("the OPTIONS of " + wanted.directory +
                                   " name write-ahead logs in " + options.wal_dir + at_risk);
  }
  rocksdb::ColumnFamilyOptions of_new_family;
  std::string names, policy = wanted.spec;
  bool is_there = false;
  for (auto& family : families) {
    names += (names.empty() ? "" : ", ") + family.name;
    AddListener(PolicyName(family.options), &options);  // any of them may be written
    if (family.name == "default") of_new_family = family.options;
    if (family.name != wanted.column_family) continue;
    is_there = true;
    if (wanted.spec.empty()) {
      policy = PolicyName(family.options);
      continue;
    }
    RETURN_IF_ERROR(SetPolicy(wanted.spec, wanted.partitioned, &family.options));
  }
  if (!is_there && wanted.spec.empty()) {
    return Status::InvalidArgument("there is no column family " + wanted.column_family + " in " +
                                   wanted.directory + ", but " + names);
  }
  options.error_if_exists = false;
  AddListener(policy, &options);
  status = rocksdb::DB::Open(options, wanted.directory, families, &open_.handles, Into(&open_.db));
  if (!status.ok()) return CannotOpen(wanted.directory, status);
  if (!is_there) status = SetPolicy(wanted.spec, wanted.partitioned, &of_new_family);
  return status.ok() ? FindOrMakeFamily(wanted.column_family, of_new_family) : status;
}

Status Target::FindOrMakeFamily(const std::string& name,
                                const rocksdb::ColumnFamilyOptions& options) {
  family_ = FamilyNamed(name);
  if (family_ != nullptr) return Status::OK();
  const Status status = open_.db->CreateColumnFamily(options, name, &family_);
  if (status.ok()) open_.handles.push_back(family_);
  return status;
}

rocksdb::ColumnFamilyHandle* Target::FamilyNamed(const std::string& name) const {
  for (rocksdb::ColumnFamilyHandle* handle : open_.handles) {
    if (handle->GetName() == name) return handle;
  }
  return nullptr;
}

}  // namespace rocksieve::tools
