// SPDX-License-Identifier: Apache-2.0
// The live files of one database, as its events tell.
//
// Only column families whose filters `auto` makes are followed: each that has a job is taken for
// one until its first new table turns out to have another policy's filter.
//
// A file is registered when its filter is built and its job is still running, made exact when the
// table is complete, and removed when it is deleted or has served as a job's input. Trivial moves
// change nothing, since levels are not kept: a file's range says what it is. What events cannot
// tell (files from before, ingested ones, jobs that failed) a resync does: the live files as the
// database itself lists them.
//
// Thread-safe. Calls nobody while it holds its lock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rocksieve {

// What is known of one table file, and of those around it.

struct UserKeyRange {
  std::string smallest, largest;
};

struct RegisteredFile {
  uint64_t number = 0;
  std::shared_ptr<const UserKeyRange> range;  // never null
  uint64_t entries = 0;
  uint64_t filter_keys = 0;
  // Of all its filter blocks and their index; negative if there is nothing yet, only a plan.
  double filter_bits = -1;
  // Which policy made its filter: PolicyId(its name); 0 if it has none.
  uint64_t policy_id = 0;
  // Of its job's threads (one for each subcompaction) the one that writes it.
  uint64_t writer = 0;
};

inline uint64_t PolicyId(std::string_view policy_name) {
  return std::hash<std::string_view>()(policy_name) | 1;
}

// What a policy must know to decide on a file's filter.
struct Surroundings {
  // The files that will be there beside it once all running jobs have ended, those included that
  // they have still to write.
  std::vector<RegisteredFile> others;
  // Bits of the filters that go with the inputs of running compactions, less those of the outputs
  // that they have finished. All that these have still to write shares them.
  double freed_bits = 0;
  // How its own file will go on, if it is not complete yet (a partition of its filter is due).
  uint64_t entries_to_come = 0;
  std::string largest_to_come;
};

// Where a builder learns which other files there are, and tells what it made: one for each table
// file that is being built. Empty functions: nothing is known but the file itself.
struct FileTracker {
  // `self` is the file as far as it was built, `complete` whether that is all of it.
  std::function<Surroundings(RegisteredFile self, bool complete)> look;
  // The file has got a filter, or one more partition of it.
  std::function<void(RegisteredFile self)> update;
};

// What a compaction has still to write.

// What one of a job's threads has written so far: all that there is from the first to the last key.
struct WrittenRange {
  std::string_view smallest, largest;
  uint64_t entries = 0;
};

// Estimates the entries that a job with these inputs will write before, between and after these
// ranges, of which that of `self` is one, and adds them to around->others as files without a
// filter; or, if `self` is not complete, those that follow it as what is to come of it.
// `begins_later`: a thread that has written nothing yet may write what comes before all of them.
void AddPendingOutput(const std::vector<RegisteredFile>& inputs, std::vector<WrittenRange> written,
                      bool begins_later, const RegisteredFile& self, bool complete,
                      Surroundings* around);

// Files as the database lists them, by column family.
using FilesByColumnFamily = std::unordered_map<std::string, std::vector<RegisteredFile>>;

class LiveFileRegistry {
 public:
  // Of a job, a flush or a compaction; its input files, by number; the session of the database in
  // which it runs, as Replace() has it.
  void BeginJob(const std::string& column_family, int job, const std::vector<uint64_t>& inputs,
                const std::string& session = "");
  // A flush or compaction was successful: its inputs are gone, but for those among the outputs.
  void EndJob(const std::string& column_family, int job, const std::vector<uint64_t>& inputs,
              const std::vector<uint64_t>& outputs);
  void FailJob(const std::string& column_family, int job);
  // One of its threads has begun to write a file.
  void BeginFile(const std::string& column_family, int job, uint64_t writer);

  // A builder has made a filter, or one more partition of it.
  void Register(const std::string& column_family, int job, const RegisteredFile& file);
  // The table is complete: what it really has, but for the range. `is_auto`: an auto policy was in
  // force.
  void Complete(const std::string& column_family, const RegisteredFile& file, bool is_auto);
  void Remove(uint64_t number);

  Surroundings Look(const std::string& column_family, int job, const RegisteredFile& self,
                    bool complete) const;

  // Resync. Needed if the database was opened anew, if something happened that events do not tell,
  // and every so many jobs to be safe.
  // `column_family` is the one that has a job.
  bool NeedsResync(const std::string& session, const std::string& column_family) const;
  void RequestResync();
  // Begins one: what happens from here on is not undone by Replace(). False if another thread is
  // about it. Every true must be followed by a Replace().
  bool BeginResync();
  bool Follows(const std::string& column_family) const;
  // Which of these numbers are known, with all that can be known.
  std::unordered_map<uint64_t, RegisteredFile> Known(const std::vector<uint64_t>& numbers) const;
  void Replace(const std::string& session, FilesByColumnFamily live);

 private:
  struct Entry {
    RegisteredFile file;
    int job = 0;         // that is writing it; 0 if it is installed
    uint64_t clock = 0;  // when it was registered
  };
  struct Job {
    std::vector<uint64_t> inputs;
    uint64_t clock = 0;
    std::string session;
    std::unordered_set<uint64_t> writers;
  };
  struct ColumnFamily {
    bool ignored = false;  // another policy makes its filters
    bool synced = false;
    std::unordered_map<uint64_t, Entry> files;
    std::map<int, Job> jobs;
  };

  static void EraseFilesOf(int job, std::unordered_map<uint64_t, Entry>* files);
  void RemoveLocked(ColumnFamily* family, uint64_t number);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, ColumnFamily> families_;
  std::string session_;
  uint64_t clock_ = 0;  // counts changes
  int jobs_since_resync_ = 0;
  bool resync_requested_ = true;
  bool resyncing_ = false;
  uint64_t resync_clock_ = 0;
  std::unordered_set<uint64_t> removed_while_resyncing_;
};

// A listener announces the table file that the same thread is about to build.
//
// RocksDB calls OnTableFileCreationStarted() on the thread that then asks the policy for a builder,
// and tells the listener what it does not tell the policy: database, file and job.
struct FileContext {
  std::shared_ptr<LiveFileRegistry> registry;  // null: nothing was announced
  std::string column_family;
  int job = 0;
  uint64_t file_number = 0;
  uint64_t writer = 0;
};

// Replaces what this thread announced before.
void SetFileContext(FileContext file_context);

// What this thread announced last, which is forgotten thereby: an SstFileWriter, which announces
// nothing, must not be taken for the file before.
FileContext TakeFileContext();

}  // namespace rocksieve
