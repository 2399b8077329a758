// Times of queries to filters that are asked in turns.
#pragma once

#include "bench/compare/tables.h"

namespace rocksieve::bench {

// Rows: filter, keys, part (the line-up's first filter), and for NAME = missing, present, batch
// (of kBatch missing keys): NAME_ns_min, NAME_ns_median, NAME_spread_percent, NAME_over_reference
// (ratio of the least times); spread_percent, the largest of the three; isa.
// Every line-up is related to its first filter. A key that a filter has lost is added to the
// failures.
nlohmann::json TimeQueries(const std::vector<Candidates>& series, const KeySet& keys, Run* run);

inline constexpr size_t kBatch = 32;  // as many as RocksDB asks at once

}  // namespace rocksieve::bench
