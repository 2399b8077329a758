// SPDX-License-Identifier: Apache-2.0
// The files that were written between two states of a database, by its journal
// (plugin/journal/journal_format.h), in place of those that compactions have made of them.
//
// A compaction shows the same rows before and after it, unless a compaction filter has its say, or
// a merge operator, which may be another one than later on, or know the time. So where neither is,
// if each file that only the later state has came out of compactions of files that the earlier one
// has, and of files that were flushed or ingested meanwhile; and if nothing else became of what
// went into them: then only what was flushed and ingested has changed rows. That is proven from the
// journal's lines, file by file. What is not in them - another process had the database open, the
// journal was off, a line was lost in a crash, files were dropped (DeleteFilesInRange, FIFO), a
// backup was restored - leaves a file of unknown origin or unknown end, and then the journal says
// nothing.
#include "plugin/unshared/state_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "plugin/database/column_family.h"
#include "plugin/journal/journal_format.h"
#include "plugin/tables/table_file.h"
#include "support/return_if_error.h"

namespace rocksieve {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

// RocksDB tells of a compaction a moment after its files are part of the database.
constexpr int kAttempts = 4;
constexpr std::chrono::milliseconds kBetweenAttempts{50};

// By the names of the journal.
using NamedFiles = std::map<std::string, LiveTable>;

Status Unknown(const std::string& why) { return Status::NotFound("the journal", why); }

// NotFound if they have operands of merges: what becomes of these is not known.
Status NameFile(const LiveTable& file, const ReadOnlySnapshot& state, std::string* name) {
  std::unique_ptr<TableFile> table;
  RETURN_IF_ERROR(TableFile::Open(state.db()->GetEnv(), file.path, &table));
  const TableProperties& properties = table->properties();
  if (properties.merge_operands > 0) return Unknown("what merges give, in " + file.path);
  *name = JournalNameOf(state.description().name, properties.session, properties.number_in_session);
  return Status::OK();
}

Status NameFiles(const std::vector<LiveTable>& files, const ReadOnlySnapshot& state,
                 NamedFiles* named) {
  for (const LiveTable& file : files) {
    std::string name;
    RETURN_IF_ERROR(NameFile(file, state, &name));
    if (name.empty() || !named->emplace(name, file).second) {
      return Unknown(file.path + " has no name of its own");
    }
  }
  return Status::OK();
}

// Behind the last hyphen; 0 if there is none.
uint64_t NumberIn(const std::string& name) {
  uint64_t number = 0;
  const char* const end = name.data() + name.size();
  std::from_chars(name.data() + name.rfind('-') + 1, end, number);
  return number;
}

// Empty if it is no file that can be read.
std::string ContentsOf(const std::string& path) {
  std::string contents;
  return rocksdb::ReadFileToString(ReadOnlyEnv(), path, &contents).ok() ? contents : "";
}

std::string PathOf(const fs::path& directory, const std::string& name) {
  return (directory / name).string();
}

// What the journal's directory has.
class Journal {
 public:
  using Jobs = std::vector<const JournalJob*>;

  Journal(std::string directory, std::string column_family)
      : directory_(std::move(directory)),
        column_family_(std::move(column_family)),
        prefix_(JournalPrefixOf(column_family_)) {
    std::error_code error;
    for (fs::directory_iterator file(directory_, error), end; !error && file != end;
         file.increment(error)) {
      AddTable(file->path());
    }
    for (const char* name : {kOldJournalJobs, kJournalJobs}) {
      if (fs::file_size(PathOf(directory_, name), error) <= 2 * kMostJournalJobsBytes && !error) {
        AddJobs(ContentsOf(PathOf(directory_, name)));
      }
    }
  }

  bool is_there() const { return !tables_.empty() || !jobs_.empty(); }
  // Null if there is none, or there are several.
  const LiveTable* Table(const std::string& name) const {
    const auto found = tables_.find(name);
    return found == tables_.end() || found->second.path.empty() ? nullptr : &found->second;
  }
  // Those that have made a file, and those that have taken it.
  const Jobs& MakersOf(const std::string& name) { return makers_[name]; }
  const Jobs& TakersOf(const std::string& name) { return takers_[name]; }

  // A compaction filter may change rows as it likes.
  bool KeepsRows(const JournalJob& job) {
    const auto [known, is_new] = without_filter_.try_emplace(job.options_file, false);
    const bool is_a_name = job.options_file.find('/') == std::string::npos;
    if (is_new && is_a_name) {
      const OptionsFile options =
          OptionsFile::Parse(ContentsOf(PathOf(directory_, job.options_file)));
      known->second =
          options.ColumnFamilyValue(column_family_, "compaction_filter") == "nullptr" &&
          options.ColumnFamilyValue(column_family_, "compaction_filter_factory") == "nullptr";
    }
    return known->second;
  }

 private:
  // "NAME.sst", "NAME.SEQUENCE.sst"
  void AddTable(const fs::path& path) {
    const bool is_ours = path.filename().string().compare(0, prefix_.size(), prefix_) == 0;
    if (path.extension() != ".sst" || !is_ours) return;
    LiveTable file;
    file.path = path.string();
    std::error_code error;
    file.bytes = fs::file_size(path, error);
    if (error) return;
    const fs::path stem = path.stem();
    const std::string sequence = stem.extension().string();
    if (!sequence.empty()) {
      const char* const end = sequence.data() + sequence.size();
      const auto parsed = std::from_chars(sequence.data() + 1, end, file.smallest_sequence);
      if (parsed.ec != std::errc() || parsed.ptr != end) return;
      file.largest_sequence = file.smallest_sequence;
      // Without one, it is below all others, whenever it came.
      if (file.smallest_sequence == 0) file.path.clear();
    }
    const std::string name = stem.stem().string();
    const auto [known, is_new] = tables_.try_emplace(name, std::move(file));
    if (!is_new) known->second.path.clear();
  }

  void AddJobs(const std::string& lines) {
    for (size_t at = 0; at < lines.size();) {
      const size_t end = std::min(lines.find('\n', at), lines.size());
      JournalJob job;
      if (ParseJournalLine(std::string_view(lines).substr(at, end - at), &job)) {
        jobs_.push_back(std::move(job));
        for (const std::string& name : jobs_.back().inputs) takers_[name].push_back(&jobs_.back());
        for (const std::string& name : jobs_.back().outputs) makers_[name].push_back(&jobs_.back());
      }
      at = end + 1;
    }
  }

  const std::string directory_, column_family_, prefix_;
  NamedFiles tables_;
  std::deque<JournalJob> jobs_;  // they stay where they are
  std::map<std::string, Jobs> makers_, takers_;
  std::map<std::string, bool> without_filter_;  // by the options' name
};

using Inode = std::pair<uint64_t, uint64_t>;  // with its device

struct SharedFileIds {
  std::set<Inode> inodes;
  std::set<uint64_t> numbers;  // in their names
};

bool IdentifyInode(const std::string& path, Inode* inode) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return false;
  *inode = {found.st_dev, found.st_ino};
  return true;
}

// From all files that only one of two states has, along the compactions between them.
class Lineage {
 public:
  Lineage(Journal* journal, const NamedFiles& earlier, const NamedFiles& later,
          const SharedFileIds& shared)
      : journal_(journal), earlier_(earlier), later_(later), shared_(shared) {}

  // NotFound if a file's origin or end is not known.
  Status Follow(std::vector<LiveTable>* written) {
    for (const auto& [name, file] : later_) {
      const bool is_taken = !journal_->TakersOf(name).empty();
      if (earlier_.count(name) > 0 || is_taken) return Unknown(file.path + " came back");
      RETURN_IF_ERROR(FindOrigin(name));
    }
    for (const auto& [name, file] : earlier_) {
      RETURN_IF_ERROR(FindEnd(name));
    }
    while (!open_.empty()) {
      const JournalJob* const job = open_.back();
      open_.pop_back();
      if (!journal_->KeepsRows(*job)) return Unknown("a compaction filter may have changed rows");
      // Of nothing, nobody could say that it is in the later state.
      if (job->outputs.empty()) return Unknown("a compaction left nothing");
      RETURN_IF_ERROR(CheckShared(*job));
      for (const std::string& name : job->inputs) {
        RETURN_IF_ERROR(FindOriginOfInput(name));
      }
      for (const std::string& name : job->outputs) {
        RETURN_IF_ERROR(FindEnd(name));
      }
    }
    for (const auto& [name, file] : written_) written->push_back(file);
    return Status::OK();
  }

 private:
  void Visit(const JournalJob* job) {
    if (visited_.insert(job).second) open_.push_back(job);
  }

  // No file of both states goes into a compaction between them, or comes out of one.
  Status CheckShared(const JournalJob& job) const {
    for (const auto* const names : {&job.inputs, &job.outputs}) {
      for (const std::string& name : *names) {
        if (shared_.numbers.count(NumberIn(name)) > 0) return Unknown("the end of " + name);
      }
    }
    return Status::OK();
  }

  // Of a file that is not of the earlier state.
  Status FindOrigin(const std::string& name) {
    const Journal::Jobs& makers = journal_->MakersOf(name);
    if (makers.size() == 1) {
      Visit(makers.front());
      return Status::OK();
    }
    const LiveTable* const table = journal_->Table(name);
    Inode inode;
    if (makers.size() > 1 || table == nullptr || !IdentifyInode(table->path, &inode) ||
        shared_.inodes.count(inode) > 0) {
      return Unknown("the origin of " + name);
    }
    written_.emplace(name, *table);
    return Status::OK();
  }

  // Taken once, by one that is visited.
  Status FindOriginOfInput(const std::string& name) {
    const Status status = FindEnd(name);
    if (!status.ok() || earlier_.count(name) > 0) return status;
    return later_.count(name) > 0 ? Unknown("the end of " + name) : FindOrigin(name);
  }

  // In the later state, or in one compaction.
  Status FindEnd(const std::string& name) {
    const Journal::Jobs& takers = journal_->TakersOf(name);
    if (takers.size() + later_.count(name) != 1) return Unknown("the end of " + name);
    if (takers.size() == 1) Visit(takers.front());
    return Status::OK();
  }

  Journal* const journal_;
  const NamedFiles& earlier_;
  const NamedFiles& later_;
  const SharedFileIds& shared_;
  std::set<const JournalJob*> visited_;
  std::vector<const JournalJob*> open_;  // of these, not followed yet
  NamedFiles written_;
};

}  // namespace

Status FindWrittenFiles(const std::string& database, const ReadOnlySnapshot& earlier,
                        const ReadOnlySnapshot& later, StateFiles* files) {
  if (earlier.column_family()->GetID() != later.column_family()->GetID()) {
    return Unknown("another column family had this name");
  }
  NamedFiles of_earlier, of_later;
  SharedFileIds shared;
  Status status = NameFiles(files->first_only, earlier, &of_earlier);
  if (status.ok()) status = NameFiles(files->second_only, later, &of_later);
  for (const LiveTable& file : files->shared) {
    Inode inode;
    if (IdentifyInode(file.path, &inode)) shared.inodes.insert(inode);
    shared.numbers.insert(NumberIn("-" + fs::path(file.path).stem().string()));
  }
  std::vector<LiveTable> written;
  for (int attempt = 1; status.ok(); attempt++) {
    Journal journal(database + "/" + kJournalDirectory, later.description().name);
    if (!journal.is_there()) return Unknown("there is none");
    status = Lineage(&journal, of_earlier, of_later, shared).Follow(&written);
    if (status.ok()) break;
    if (attempt == kAttempts) return status;
    std::this_thread::sleep_for(kBetweenAttempts);
    status = Status::OK();
  }
  for (const LiveTable& file : written) {
    std::string name;
    if (status.ok()) status = NameFile(file, later, &name);
  }
  if (!status.ok()) return status;
  files->are_written = true;
  files->first_only.clear();
  files->first_only_bytes = files->second_only_bytes = 0;
  for (const LiveTable& file : written) files->second_only_bytes += file.bytes;
  files->second_only = std::move(written);
  return status;
}

}  // namespace rocksieve
