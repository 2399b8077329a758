// SPDX-License-Identifier: Apache-2.0
// Two states of a database that share table files, compared by the others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <absl/status/status.h>

#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"
#include "lib/transport/cancellation.h"
#include "plugin/database/read_only_snapshot.h"
#include "plugin/join/row_lookup.h"
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
  static std::unique_ptr<UnsharedComparison> OpenChanges(const ReadOnlySnapshot& earlier,
                                                         const ReadOnlySnapshot& later);

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
  static std::unique_ptr<UnsharedComparison> OpenFiles(const ReadOnlySnapshot& local,
                                                       const ReadOnlySnapshot& remote,
                                                       StateFiles files);
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

}  // namespace rocksieve::join
