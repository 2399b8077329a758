// SPDX-License-Identifier: Apache-2.0
// What iterators read in ranges that hold nothing, with filters that know ranges and without.
#pragma once

#include <cstdint>
#include <filesystem>

#include <rocksdb/status.h>

#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

// Builds a tree of events of some entities in directories of their own below `directory`, once for
// each filter: of 100,000 events, or, if the demonstration has few `keys`, of ten for each of them, at
// least of 1,000. Asks for events right after an event of which there are none; also for ones that
// are there, of which none may be lost. Sets *result to what docs/json.md has under "ranges".
// Aborted if interrupted, or RocksDB's error.
rocksdb::Status MeasureRanges(const std::filesystem::path& directory, uint64_t keys,
                              Progress* progress, Json* result);

}  // namespace rocksieve::tools
