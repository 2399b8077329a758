// Lines into a database.
#pragma once

#include <cstdint>
#include <string>

#include <rocksdb/status.h>

#include "support/progress.h"
#include "tools/load/target.h"

namespace rocksieve::tools {

struct LoadOptions {
  TargetOptions target;
  std::string input;  // a path, or "-"
  bool compact = false;
};

struct LoadResult {
  uint64_t lines = 0;  // read and written, those of equal keys too
  uint64_t input_bytes = 0;
  uint64_t files = 0;  // of the column family, at the end
  uint64_t entries = 0;
  uint64_t filter_bytes = 0;
  double seconds = 0;
};

// A line is a key, or a key, a TAB and a value. A later line wins over an earlier one of the same
// key. Memory does not grow with the input. The status says it all, for people: what is wrong in
// which line, what is in the database now, what to do. Aborted if the user interrupted it. Whatever
// happens, the database is consistent and holds the first lines of the input, or all.
rocksdb::Status Load(const LoadOptions& options, Progress* progress, LoadResult* result);

}  // namespace rocksieve::tools
