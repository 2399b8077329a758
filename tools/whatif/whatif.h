// SPDX-License-Identifier: Apache-2.0
// What other filter policies would do on the tree that a database has.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "lib/budget/cache_reads.h"
#include "plugin/database/tree.h"
#include "support/chart.h"
#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

struct WhatIfOptions {
  std::string database;
  std::vector<std::string> specs;
  std::vector<std::string> column_families;  // all, if empty
  std::string probes;                        // a file of missing keys; empty: made ones
  bool probes_are_hex = false;
  int least_bits = 6, most_bits = 20;  // per entry
  double read_us = 80;
  bool with_ranges = false;  // iterators over ranges without keys as well
  std::string ranges;        // a file of ranges; empty: made ones
  // That each column family is to have for itself, with filters and indexes in it; 0 bytes: nothing
  // is said of it.
  BlockCache block_cache;
};

// The document of docs/json.md, and a picture of reads per missing key against memory for each
// column family that has files.
//
// With `opened`, of that database, and `options.database` is of no account.
rocksdb::Status RunWhatIf(const WhatIfOptions& options, Progress* progress, Json* document,
                          std::vector<Chart>* charts, const DatabaseTrees* opened = nullptr);

}  // namespace rocksieve::tools
