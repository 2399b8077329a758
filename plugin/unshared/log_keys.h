// SPDX-License-Identifier: Apache-2.0
// What write-ahead logs have written that may be in no table file yet: keys, and ranges that were
// deleted.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/read_only_snapshot.h"
#include "plugin/tables/table_entries.h"

namespace rocksieve {

struct LogKeys {
  std::set<std::string> keys;
  std::vector<DeletedRange> deleted_ranges;

  // Adds those of a state, more than its memtables hold, maybe. NotSupported if the logs cannot be
  // read so, do not have all that the memtables have, or have keys of more than so many bytes.
  rocksdb::Status Add(const ReadOnlySnapshot& state, size_t most_bytes);
};

}  // namespace rocksieve
