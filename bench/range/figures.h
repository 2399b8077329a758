// SPDX-License-Identifier: Apache-2.0
// The tables of `./run bench ranges`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/program.h"

namespace rocksieve::bench {

struct RangeSettings {
  uint64_t entity_keys = 610'000;
  uint64_t path_keys = 200'000;
  std::string path_file;            // lines to take instead of made paths; "": none
  uint64_t range_queries = 20'000;  // of each kind, in a tree
  uint64_t gets = 20'000;           // of absent keys, and of present ones, in a tree
  uint64_t mix_keys = 300'000;
  uint64_t mix_queries = 60'000;  // of a mix of lookups and ranges
  std::string directory;          // where databases are built

  std::vector<uint64_t> uniform_keys = {100'000, 1'000'000};
  uint64_t timestamps = 100'000;
  uint64_t rate_queries = 500'000;  // of each kind, of a filter alone
  int build_rounds = 5, query_rounds = 60;
};

struct RangeRun : Report {
  using Report::Report;
  RangeSettings settings;
};

// All throw if the user interrupts them, and if a database cannot be written.

// Trees of several levels under each filter, with what a query reads. Rows: query, unit, and values
// by filter.
Table MeasureEntities(RangeRun* run);  // keys of an entity and a time
Table MeasurePaths(RangeRun* run);     // keys that are paths of files

// rocksieve.auto for lookups and ranges beside settings chosen by hand.
Table MeasureMixes(RangeRun* run);

// Filters without a database.
Table MeasureRangeRates(RangeRun* run);  // their size, and false positives by length
Table MeasureRangeTimes(RangeRun* run);  // their builds and queries beside a ribbon

}  // namespace rocksieve::bench
