// SPDX-License-Identifier: Apache-2.0
// A comparison with a server that was made before, and what it left behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <rocksieve/join/join.h>

#include "lib/join/rows/source.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/transport/cancellation.h"
#include "plugin/database/read_only_snapshot.h"
#include "plugin/join_api/differences.h"
#include "plugin/join_api/join_impl.h"

namespace rocksieve::join {

// What a comparison leaves behind for the next one of the same column family. Rows of the two
// states that are not among `different` are equal in both.
struct DiffState {
  // A digest: the last bytes of a side's whole-row join key, or those of kNoRow.
  struct DifferentRow {
    std::string key, local_digest, remote_digest;
  };

  std::string local, remote;            // under which names each side keeps its state
  std::vector<DifferentRow> different;  // by their keys
  uint64_t full_at_seconds = 0;         // when all was compared, since 1970

  // A file in the directory. NotFound if there is none, or it is damaged.
  static absl::StatusOr<DiffState> Load(const std::string& directory,
                                        const std::string& column_family);
  // In place of the one before, all or nothing.
  absl::Status Save(const std::string& directory, const std::string& column_family) const;
};

// A comparison with a server that was made before: only rows that have changed since, on either
// side, are compared, and those that differed.
//
// Both sides keep the states that were compared. Rows that were equal then, and that neither side
// has changed, are equal now. What has changed since is found by each side alone, in the table
// files that its two states do not share, or in those that its journal has (FindChangedRows()):
// whatever became of the database meanwhile, nothing of it has to be believed. The changes of both
// sides are joined. One that only one side has is compared with what this side had, or has: the
// other one still has what it had then, which was the same.
class SecondLook {
 public:
  // `rows`: of this side. All is compared if the last time is longer ago than that.
  SecondLook(const std::string& directory, std::chrono::hours full_every, DirectoryOfRows rows);
  // Forgets what was not saved.
  ~SecondLook();
  SecondLook(const SecondLook&) = delete;
  SecondLook& operator=(const SecondLook&) = delete;

  // As JoinTo() with all whole rows of both sides (Peer::on), in their order; of the first look at
  // them.
  absl::Status Run(const Peer& peer, const JoinOptions& options, bool describe, ResultSink* rows,
                   JoinReport* report);

  // Whether all was compared, why, and when it was, since 1970.
  bool is_full() const { return changed_ == nullptr; }
  const std::string& why_full() const { return why_full_; }
  // Of this side: what has changed was found by the journal.
  bool by_journal() const { return !is_full() && by_journal_; }
  uint64_t full_at_seconds() const { return next_.full_at_seconds; }

  // Of a look at all rows: one that differs, in their order.
  void AddDifferent(const DifferencePair& pair);
  // The next comparison begins where this one ended. Nothing is saved if too many rows differ.
  absl::Status Save();

 private:
  absl::Status Open(const Cancellation* cancellation);
  absl::Status OpenChanges(const Cancellation* cancellation);
  absl::Status CompareChanges(const Peer& peer, const JoinOptions& options, bool describe,
                              ResultSink* rows, JoinReport* report);
  absl::Status LookUpRemoteRows(const std::vector<std::string>& keys, const Peer& peer,
                                JoinOptions options, Sink* sorted, JoinReport* report) const;
  Input PresentRows() const;
  Input RowsThatChanged() const;

  const std::string directory_;
  const std::chrono::hours full_every_;
  const DirectoryOfRows rows_;
  const KeptStates states_;
  DiffState before_, next_;
  bool is_saved_ = false;
  std::string replaced_;  // this side's state of the comparison before, whether it was used or not
  std::shared_ptr<const ReadOnlySnapshot> then_, now_;
  std::shared_ptr<Source> changed_;  // null: all has to be compared
  bool by_journal_ = false;
  std::string why_full_;
};

}  // namespace rocksieve::join
