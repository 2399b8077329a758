// What `rocksieve inspect` finds out about one table file, before it is put into words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "lib/filter/description.h"
#include "plugin/database/file_filter.h"
#include "plugin/tables/table_file.h"

namespace rocksieve::tools {

// Beside FileFilter::blocks().
struct BlockMeasures {
  double predicted_rate = 0;  // NaN if unknown
  uint64_t probes = 0;        // random keys, which are none of the filter's
  uint64_t passes = 0;
  FilterLoad load;
};

struct Inspection {
  std::unique_ptr<TableFile> file;
  std::unique_ptr<FileFilter> filter;
  std::vector<BlockMeasures> blocks;
  double predicted_rate = 1;  // of the whole filter, NaN if unknown
  double probed_rate = -1;    // likewise; -1 if there is nothing to probe
  uint64_t probes = 0;

  double BitsPerEntry() const;
};

// Every error is a sentence that names the thing and the remedy.
rocksdb::Status Inspect(const std::string& path, Inspection* result);

}  // namespace rocksieve::tools
