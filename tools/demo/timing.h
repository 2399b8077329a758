// How long lookups take, measured so that noise hits all databases alike.
#pragma once

#include <memory>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/status.h>

#include "support/progress.h"
#include "tools/demo/keys.h"

namespace rocksieve::tools {

inline constexpr int kTimingRounds = 31;

// Microseconds per lookup: the median of the rounds, and the fastest and the slowest of them.
struct LookupTime {
  double median_us = 0;
  double fastest_us = 0;
  double slowest_us = 0;
};

struct LookupTimes {
  LookupTime missing;  // meaningless if there are no missing keys
  LookupTime present;
};

// Each round asks every database for the same keys, in random order; the next round for other keys,
// with another database first. Before the first round, one that does not count warms up.
// PerfContext is off. (*times)[i] belongs to databases[i]. Aborted if interrupted, or RocksDB's
// error.
rocksdb::Status TimeLookups(const std::vector<std::unique_ptr<rocksdb::DB>>& databases,
                            const Keys& keys, Progress* progress, std::vector<LookupTimes>* times);

}  // namespace rocksieve::tools
