// SPDX-License-Identifier: Apache-2.0
// Two states of a database that share table files, compared by the others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/rows/source.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/transport/cancellation.h"
#include "plugin/database/read_only_snapshot.h"
#include "plugin/join/comparable_value.h"
#include "plugin/unshared/changed_keys.h"

namespace rocksieve::join {

class UnsharedComparison {
 public:
  // Null if reading all of both states costs little more: they share less than a quarter of their
  // bytes; or if it has to be: ChangedKeys::Open(). The states must outlive it.
  static std::unique_ptr<UnsharedComparison> Open(const ReadOnlySnapshot& local,
                                                  const ReadOnlySnapshot& remote);
  // Of two states of one database, the local one the earlier: by its journal, if it has one that
  // tells. A row that was written, and would have to be looked up in the earlier state, is taken to
  // differ; it has no value on the local side then.
  static absl::StatusOr<std::unique_ptr<UnsharedComparison>> OpenChanges(
      const ReadOnlySnapshot& earlier, const ReadOnlySnapshot& later);

  uint64_t shared_files() const { return shared_files_; }
  uint64_t shared_bytes() const { return shared_bytes_; }
  uint64_t entries() const { return changed_->entries(); }
  // By the journal.
  bool is_of_written_files() const { return is_of_written_files_; }
  // Of those, so many more were read; may be empty.
  std::function<void(uint64_t entries)> progress;

  // Rows that are on one side only, as LocalComparison::Run() gives them. `local` and `remote`:
  // rows of the two states, as that takes them, for ranges that were deleted.
  absl::Status Run(Source* local, Source* remote, const Cancellation& cancellation, Sink* sink);

  // That were compared; rows of shared files are not among them.
  uint64_t local_rows() const { return local_rows_; }
  uint64_t remote_rows() const { return remote_rows_; }
  uint64_t equal_rows() const { return equal_rows_ + changed_->equal_rows(); }

 private:
  UnsharedComparison(const ReadOnlySnapshot& local, const ReadOnlySnapshot& remote);
  static absl::StatusOr<std::unique_ptr<UnsharedComparison>> OpenFiles(
      const ReadOnlySnapshot& local, const ReadOnlySnapshot& remote, StateFiles files);
  // Unless it is known.
  static absl::Status Find(RowLookup* rows, std::string_view key, const ChangedKey::Shown& shown,
                           std::string* comparable, std::optional<std::string_view>* value);
  absl::Status Compare(const ChangedKey& changed, Source* local, Source* remote, Sink* sink);
  absl::Status CompareRow(std::string_view key, std::optional<std::string_view> mine,
                          std::optional<std::string_view> theirs, Sink* sink);
  absl::Status Add(std::string_view key, std::string_view value, Side from, Sink* sink);

  RowLookup local_, remote_;
  std::unique_ptr<ChangedKeys> changed_;
  uint64_t shared_files_ = 0, shared_bytes_ = 0;
  uint64_t local_rows_ = 0, remote_rows_ = 0, equal_rows_ = 0;
  bool is_of_written_files_ = false, takes_writes_for_changes_ = false;
  std::string join_key_;
};

// The rows that may have changed from one state of a column family to a later one, for a comparison
// with those of another database that was equal then.
//
// A row's key is its whole-row join key (lib/join/join_key/join_key_source.h), its value what the later
// state has of it; of one that is gone, kNoRow (plugin/join/comparable_value.h). Rows that did not
// change may be among them: those that were written, and not looked up in the earlier state.
struct ChangedRows {
  std::shared_ptr<Source> rows;
  bool by_journal = false;  // else by the files that the states do not share
};

// Reads what was written between the states, or the table files that they do not share, and keeps
// the rows as `sort` says. With `values`, they come with them. NotFound if the states share too
// little, or have to be compared as a whole (UnsharedComparison::OpenChanges()). The states are not
// needed afterwards.
absl::StatusOr<ChangedRows> FindChangedRows(const ReadOnlySnapshot& before,
                                            const ReadOnlySnapshot& now, bool values,
                                            const SortOptions& sort,
                                            const Cancellation* cancellation);

}  // namespace rocksieve::join
