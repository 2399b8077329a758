// What lookups cost in a tree, by RocksDB's own counters.
#pragma once

#include <cstdint>
#include <functional>

#include "bench/auto/tree.h"

namespace rocksieve::bench {

struct Lookups {
  uint64_t lookups = 0;
  double useless_reads = 0;  // data blocks per lookup, beyond the one that a present key is in
  double filter_probes = 0;  // per lookup
  uint64_t wrong = 0;        // present keys that were not found, missing ones that were
};

// Ask for `count` keys, spread over all numbers below `numbers`. Keep nothing in the block cache.
// Nearby ones lie in a sixteenth of the key space, unlike the live keys.
Lookups LookUpMissing(rocksdb::DB* db, uint64_t numbers, uint64_t count);
Lookups LookUpMissingNearby(rocksdb::DB* db, uint64_t numbers, uint64_t count);
Lookups LookUpPresent(rocksdb::DB* db, uint64_t numbers, uint64_t count);

// Nanoseconds per lookup of a missing key with everything in memory, the median of some rounds.
// Leaves blocks in the block cache.
double TimeMissing(rocksdb::DB* db, uint64_t numbers);

}  // namespace rocksieve::bench
