// SPDX-License-Identifier: Apache-2.0
// A database here compared with several servers: who has which version of a row, and what most
// have.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/status.h>
#include <rocksieve/join/diff.h>

#include "support/table.h"
#include "tools/join/database_diff.h"
#include "tools/join/difference_log.h"

namespace rocksieve::tools {

// Of a row that not all sides have alike.
struct RowVersions {
  std::string column_family, key;
  // For each side, the one here first: 'A' is what most have or, if no version is that of more than
  // half of them, the first; 'B' and so on others, as they come; '-': the side lacks the row; '?':
  // it is not known, since the column family was not compared with that side or could not be read,
  // or the row is being written.
  std::string versions;
  char majority = 0;  // the version of more than half of the sides; 0: there is none
  // By their letters.
  std::vector<std::pair<char, LoggedColumns>> values;
};

// As it is printed, with its end.
std::string FormatVersions(const RowVersions& row, join::DiffFormat format);

using TakeVersions = std::function<rocksdb::Status(const RowVersions& row)>;

// `options`: without a peer. Compares with one after another, each as DiffDatabases() does; what
// differs waits in files without names. Then `take` gets the rows, by column families and keys. The
// document: "local", "remotes" with the document of each comparison, and "versions", which says how
// many rows are not alike and how often each side has another version than most.
rocksdb::Status CompareReplicas(const DatabaseDiffOptions& options,
                                const std::vector<join::Peer>& peers, const TakeVersions& take,
                                Json* document);

std::string VersionsInWords(const Json& document);
// As DiffExitCode(), of the worst comparison.
int VersionsExitCode(const Json& document);

}  // namespace rocksieve::tools
