// SPDX-License-Identifier: Apache-2.0
// The rows that may have changed from one state of a column family to a later one, for a comparison
// with those of another database that was equal then.
//
// A row's key is its whole-row join key (lib/join/join_key/whole_row.h), its value what the later
// state has of it; of one that is gone, kNoRow (plugin/join/comparable_value.h). Rows that did not
// change may be among them: those that were written, and not looked up in the earlier state.
#pragma once

#include <memory>
#include <string_view>

#include <absl/status/statusor.h>

#include "lib/join/rows/source.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/transport/cancellation.h"
#include "plugin/database/read_only_snapshot.h"

namespace rocksieve::join {

struct ChangedRows {
  std::unique_ptr<Source> rows;
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
