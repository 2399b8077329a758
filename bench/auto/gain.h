// SPDX-License-Identifier: Apache-2.0
// One row of the table: rocksieve.auto beside uniform filters of the same memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/auto/tree.h"

namespace rocksieve::bench {

// What lookups cost in a tree, by RocksDB's own counters.
struct Lookups {
  uint64_t lookups = 0;
  double useless_reads = 0;  // data blocks per lookup, beyond the one that a present key is in
  double filter_probes = 0;  // per lookup
  uint64_t wrong = 0;        // present keys that were not found, missing ones that were
};

struct Measured {
  std::string policy;
  Memory memory;
  std::string files_per_level;
  double build_seconds = 0;
  Lookups missing, nearby, present;
  double in_memory_ns = 0;  // per missing key
  double modelled_ns = 0;   // per missing key: useless reads and probes, by the cost model
};

struct Gain {
  Shape shape;
  double budget = 0;
  Measured automatic, bloom, ribbon;
  std::vector<Measured> own;  // of families of ours, each alone, in the memory of the budget

  // Of those with the fewest useless reads; null if none was measured.
  const Measured* best_own() const;
  double of_best_own() const {
    return automatic.missing.useless_reads / best_own()->missing.useless_reads;
  }
  double of_bloom() const { return automatic.missing.useless_reads / bloom.missing.useless_reads; }
  double of_ribbon() const {
    return automatic.missing.useless_reads / ribbon.missing.useless_reads;
  }
};

struct GainOptions {
  std::string extra;  // of the spec, such as ":read-ns-1000000"
  bool listener = true;
  uint64_t lookups = 1000000;
  bool own_families = false;  // instead of RocksDB's
};

// `begin` is told of each step and how many keys it has, `advance` of so many more of them.
Gain MeasureGain(const Shape& shape, double budget, const GainOptions& options,
                 const std::string& directory,
                 const std::function<void(const std::string&, uint64_t)>& begin,
                 const std::function<void(uint64_t)>& advance);

}  // namespace rocksieve::bench
