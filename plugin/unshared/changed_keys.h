// SPDX-License-Identifier: Apache-2.0
// Keys whose rows may differ between two states of a database, from the files that the states do
// not share.
//
// What RocksDB shows of a key is decided by its entries, newest first. Those in shared files are
// the same in both states. So a key can only differ if other files, or a write-ahead log, have an
// entry of it or a deleted range with it. Of such a key, both states' newest entries in those files
// are looked at:
//
//   - They are the same write (the sequence number, and not 0; type; value): equal.
//   - Both leave the row the same, and no shared file may have an entry between the two: equal.
//   - A plain value or a deletion is what a state shows if no shared file may have a newer entry.
//   - Else the state must be asked; also if the key is in a log. Deleted ranges have to be compared
//     as a whole.
//
// Where the journal tells which files were written between the two states, these are looked at, as
// files of the second one; what the first one shows is not known then.
//
// Nothing of that depends on how the two states came to be: compaction, ingested files, files that
// were dropped, or databases that have nothing to do with each other but hard links.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/read_only_snapshot.h"
#include "plugin/tables/table_entries.h"
#include "plugin/unshared/state_files.h"

namespace rocksieve {

// Views until the next one.
struct ChangedKey {
  // What a state shows.
  struct Shown {
    bool is_known = false;                        // else it has to be looked up
    std::optional<std::string_view> plain_value;  // nothing: the state lacks the row
  };

  std::string_view key;
  // If there is one, all rows from `key` up to but without it have to be compared.
  std::optional<std::string_view> end;
  Shown first, second;  // of the key; they differ, if both are known
  // Only the second state has it in a log: what it shows was not there when the first one was.
  bool is_in_second_log = false;
};

class ChangedKeys {
 public:
  // The states must outlive it. NotSupported, and all has to be compared, if not all of their
  // entries can be read: another order than bytewise, formats that are not known here, logs.
  // `limiter` may be null; reading is charged to it with priority IO_LOW.
  static rocksdb::Status Open(const ReadOnlySnapshot& first, const ReadOnlySnapshot& second,
                              StateFiles files, rocksdb::RateLimiter* limiter,
                              std::unique_ptr<ChangedKeys>* changed);

  // What the first state shows of a key that its files have no entry of is not found out: no
  // filters of shared files are read for it.
  void LeaveFirstUnknown() { first_is_known_ = false; }

  // In the order of keys. False at the end, and after an error.
  bool Next(ChangedKey* changed);
  const rocksdb::Status& status() const { return status_; }

  uint64_t entries() const { return entries_; }            // of the files
  uint64_t entries_read() const { return entries_read_; }  // so far
  uint64_t equal_rows() const { return equal_rows_; }  // that were told by their entries, so far

 private:
  // A file's entries, of one state.
  struct Reader {
    std::unique_ptr<TableEntries> entries;
    bool is_first = false;             // of the first state
    std::optional<uint64_t> sequence;  // of all its entries: it was ingested
    uint64_t SequenceOfEntry() const { return sequence.value_or(entries->entry().sequence); }
  };
  // The newest entry of a key in a state's files; nothing if there is none.
  using Newest = std::optional<TableEntry>;

  ChangedKeys(SharedFiles shared, bool are_written)
      : shared_(std::move(shared)), are_written_(are_written), first_is_known_(!are_written) {}
  rocksdb::Status OpenFiles(const std::vector<LiveTable>& files, rocksdb::Env* env, bool is_first,
                            rocksdb::RateLimiter* limiter);
  void JoinRanges(std::vector<DeletedRange> ranges);
  bool AdvanceReaders();
  bool FindNextKey();
  Newest NewestOf(bool is_first) const;
  bool Judge(ChangedKey* changed);
  ChangedKey::Shown ShownBy(const Newest& newest);
  static bool IsLater(const Reader* a, const Reader* b);

  SharedFiles shared_;
  const bool are_written_;            // the files: StateFiles
  bool first_is_known_;               // where it has no entry
  LogKeys first_log_, second_log_;    // those that are not reached yet
  std::vector<DeletedRange> ranges_;  // in order, without overlaps
  size_t next_range_ = 0;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<Reader*> heap_;    // by the key where they stand
  std::vector<Reader*> at_key_;  // those that stand at `key_`, out of the heap
  bool started_ = false;
  bool found_ = false;                                 // `key_` is the next one, and was not judged
  bool in_first_log_ = false, in_second_log_ = false;  // so is `key_`
  std::string key_;
  uint64_t entries_ = 0, entries_read_ = 0, equal_rows_ = 0;
  rocksdb::Status status_;
};

}  // namespace rocksieve
