// SPDX-License-Identifier: Apache-2.0
// What a policy's filters for the files of a tree would take and do.
//
// Ours: lib/FAMILY/plan.h. RocksDB's: plugin/tables/builtin_model.h. Here is what
// RocksDB makes of them in a file: partitions and their index, levels and flushes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "plugin/database/policy_spec.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

// Of a file.
struct PredictedFilter {
  Family family = Family::kNone;
  double bytes = 0;   // as in the property filter_size: with the index of partitions
  double blocks = 1;  // more than 1: in partitions
  double rate = 1;    // of a key that is not in the file
};

struct LevelPrediction {
  int level = 0;
  uint64_t files = 0, files_without_filter = 0;
  uint64_t entries = 0;
  double filter_bytes = 0;
  double meets = 0;   // files of the level that a lookup of a missing key asks
  double passes = 0;  // and those of them that it searches in vain
  double reads = 0;   // data blocks in them

  // Of the level's filters, in proportion to how often they are asked; keys whose prefix is there
  // pass as well.
  double rate() const { return meets > 0 ? passes / meets : 0; }
};

struct Prediction {
  double filter_bytes = 0;
  double reads = 0;  // useless data-block reads per lookup of a missing key
  std::vector<LevelPrediction> levels;
  // What times depend on: keys to build filters from, filters asked per lookup of a missing key.
  std::map<Family, double> keys, probes;
  std::vector<PredictedFilter> filters;  // of the tree's files, one for each
};

// The filters that the policy would build, each file rewritten at its own level.
Prediction Predict(const PlannedTree& tree, const PolicySpec& policy);

// The filters that the files have now. Of their families nothing is said.
Prediction PredictNow(const PlannedTree& tree);

}  // namespace rocksieve::tools
