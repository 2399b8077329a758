// SPDX-License-Identifier: Apache-2.0
// What a family of filters does with more and less memory, on one tree, and which policy to take.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/budget/cache_reads.h"
#include "plugin/database/policy_spec.h"
#include "support/table.h"
#include "tools/whatif/prediction.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

// What filters cost in this process, on this machine, now: measured, since constants of another
// machine would be wrong.

struct FilterCost {
  double build_ns = 0;  // per key, hashing included
  double probe_ns = 0;  // per query of a filter that is in memory
};

// Measures when first asked, some 0.1 s for each policy, and remembers it for all trees of the
// process whose keys are as long. One thread at a time.
class Calibration {
 public:
  // `key_bytes`: of the tree's keys, on average.
  explicit Calibration(double key_bytes);

  // Of one thread that builds all filters of the tree.
  double BuildSeconds(const PolicySpec& policy, const Prediction& prediction);

  // Of all filters that a lookup of a missing key asks.
  double ProbeNs(const PolicySpec& policy, const Prediction& prediction);

 private:
  FilterCost CostOf(const PolicySpec& policy, Family family);

  const size_t key_bytes_;  // at least 8, at most 256
};

// What lookups of missing keys read where the filters of a tree share a block cache with indexes
// and data, by the model of lib/budget/cache_reads.h.

// Filters that a budget of bytes is compared with.
struct CacheCandidate {
  std::string name;
  double bytes_read = 0;  // per lookup of a missing key
};

class CacheModel {
 public:
  // As if only the tree's column family used the cache, with filters and indexes in it, whatever
  // its options say. `tree`, whose lookups are placed, must outlive this.
  CacheModel(const PlannedTree& tree, const BlockCache& cache);

  // Per lookup of a missing key.
  double BytesRead(const Prediction& prediction) const;

  // The "cache_advice" of docs/json.md. The first of the candidates is what is there. Cost: some
  // 0.1 ms per file.
  Json Advise(const std::vector<CacheCandidate>& candidates) const;

 private:
  const PlannedTree& planned_;
  const BlockCache cache_;
  CachedTree tree_;
};

struct CurvePoint {
  double bits = 0;  // the setting
  double filter_bytes = 0;
  double reads = 0;  // useless ones per lookup of a missing key
};

struct Curve {
  std::string name;
  PolicySpec family;
  std::vector<CurvePoint> points;  // with rising memory

  // Interpolated between the points, on a logarithmic scale; negative outside of them.
  double ReadsAt(double filter_bytes) const;

  // The setting that takes so much memory at most; negative if the least one takes more.
  double BitsFor(double filter_bytes) const;

  // The least memory in which the reads are no more than these; negative if there is none.
  double BytesFor(double reads) const;
};

// From less than `least` to more than `most` bits per entry, as far as the family goes.
Curve CurveOf(const PlannedTree& tree, const PolicySpec& family, double least, double most);

// Compares all families in the same memory, by the time that a lookup of a missing key takes in
// reads and probes. `filter_bytes`: the memory that may be used; `memory_words`: "in the memory
// that filters take now". The "recommendation" of docs/json.md; its "spec" is null if nothing
// should be changed.
Json Recommend(const PlannedTree& tree, const Prediction& now, const std::vector<Curve>& curves,
               double filter_bytes, const std::string& memory_words, double read_us,
               Calibration* calibration);

}  // namespace rocksieve::tools
