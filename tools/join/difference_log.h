// SPDX-License-Identifier: Apache-2.0
// Rows that differ, in a file of lines (rocksieve diff --format=jsonl), from which a database is
// made like the other one, or is made again what it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/status.h>

#include "support/progress.h"

namespace rocksieve::tools {

// A row's columns by their names; of a plain value, one without a name.
using LoggedColumns = std::vector<std::pair<std::string, std::string>>;

// A line of such a file.
struct LoggedRow {
  std::string column_family, verdict, key;
  std::optional<LoggedColumns> local, remote;  // nothing: the side lacks it; not both

  // False if it is none.
  static bool Read(std::string_view line, LoggedRow* row);
};

enum class ApplyDirection { kForward, kBackward };

struct AppliedRows {
  uint64_t put = 0, deleted = 0;
  uint64_t done_before = 0;  // they were what they were to become
  uint64_t left_alone = 0;   // they were neither that nor what the line says they had been
};

// Writes each row to the database in the directory, with the options that it has, if the row still
// is as the line says that it was: the other side's version forward, this side's backward. What was
// done is done if it ends early, and another call does the rest. InvalidArgument and IOError with
// the remedy: somebody has the database open, a line is none of these.
rocksdb::Status ApplyDifferenceLog(const std::string& directory, const std::string& log,
                                   ApplyDirection direction, Progress* progress,
                                   AppliedRows* applied);

}  // namespace rocksieve::tools
