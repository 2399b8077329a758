// SPDX-License-Identifier: Apache-2.0
// What iterators read in ranges that hold nothing, with filters that know ranges and without.
#pragma once

#include <filesystem>

#include <rocksdb/status.h>

#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

// Builds a tree of 100,000 events of some entities in directories of their own below `directory`,
// once for each filter, and asks for events right after an event of which there are none; also for
// ones that are there, of which none may be lost. Sets *result to what docs/json.md has under
// "ranges". Aborted if interrupted, or RocksDB's error.
rocksdb::Status MeasureRanges(const std::filesystem::path& directory, Progress* progress,
                              Json* result);

}  // namespace rocksieve::tools
