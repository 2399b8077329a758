// SPDX-License-Identifier: Apache-2.0
// A database here compared with another one, column family by column family.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/status.h>
#include <rocksieve/join/diff.h>

#include "support/table.h"
#include "tools/join/resume_state.h"

namespace rocksieve::tools {

struct DatabaseDiffOptions {
  std::string directory;
  // Either of them.
  std::string other_directory;
  std::optional<join::Peer> peer;  // its column family is replaced

  std::vector<std::string> column_families;  // those of both sides, if empty
  join::DiffOptions diff;
  uint64_t bytes_per_second = 0;  // that are read of databases here, all together; 0: no limit
  ResumeState* state = nullptr;   // in which it is kept how far it is, if it shall go on later
};

using TakeDifference =
    std::function<rocksdb::Status(const std::string& column_family, const join::DifferentRow& row)>;

// The document of docs/json.md, also as far as it came if there is an error. A column family that
// cannot be read, or that the sides do not have in common, is no error, but a verdict:
// "unreadable", "schema". `take` may be empty.
rocksdb::Status DiffDatabases(const DatabaseDiffOptions& options, const TakeDifference& take,
                              Json* document);

// What a comparison of databases has found (DiffDatabases()), for people and for scripts.

std::string DiffInWords(const Json& document);

// 0 if nothing differs for good, 1 if something does, 2 if something could not be read: as diff(1).
int DiffExitCode(const Json& document);

}  // namespace rocksieve::tools
