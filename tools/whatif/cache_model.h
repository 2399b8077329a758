// SPDX-License-Identifier: Apache-2.0
// What lookups of missing keys read where the filters of a tree share a block cache with indexes
// and data, by the model of lib/budget/cache_reads.h.
#pragma once

#include <string>
#include <vector>

#include "lib/budget/cache_reads.h"
#include "support/table.h"
#include "tools/whatif/prediction.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

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

}  // namespace rocksieve::tools
