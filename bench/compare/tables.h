// SPDX-License-Identifier: Apache-2.0
// The measurements, one table and one source file each.
#pragma once

#include "bench/compare/settings.h"
#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::bench {

inline constexpr size_t kBatch = 32;  // keys of a batched query; as many as RocksDB asks at once

// What lasts for the whole program.
struct Run {
  Settings settings;
  std::vector<std::string> arguments_for_children;  // that give them the same effort
  Progress progress{"compare"};
  Failures failures;
};

Table MeasureRates(Run* run);    // false positives and size, by bits per key
Table MeasureSizes(Run* run);    // bits per key at equal rates
Table MeasureSmall(Run* run);    // rate and size by the number of keys
Table MeasureQueries(Run* run);  // times of single queries and of batches, filters in the caches
Table MeasureLengths(Run* run);  // the same by the length of the keys
Table MeasureCold(Run* run);     // batches against single queries, filters out of the caches
Table MeasureBuilds(Run* run);   // times of building
Table MeasureMemory(Run* run);   // memory while building
Table MeasureIsas(Run* run);     // times for each instruction set, in child processes

// Compares all of these with what the design promises.
Table CompareWithTargets(const std::vector<Table>& tables);

}  // namespace rocksieve::bench
