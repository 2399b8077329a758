// What a policy's filter for one file would take and do.
//
// Ours: lib/FAMILY/model.h and plan.h. RocksDB's: plugin/tables/builtin_model.h. Here is what
// RocksDB makes of them in a file: partitions and their index, levels and flushes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include <rocksdb/filter_policy.h>

#include "plugin/database/policy_spec.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

struct PredictedFilter {
  Family family = Family::kNone;
  double bytes = 0;  // as in the property filter_size: with the index of partitions
  double rate = 1;   // of a key that is not in the file
};

// Predicts for one policy; remembers, since many files are alike.
class FilterModel {
 public:
  // REQUIRES: the policy is not rocksieve.auto, which decides for the whole tree (PredictAuto()).
  FilterModel(const PolicySpec& spec, const FilterOptions& options);

  PredictedFilter Predict(const PlannedFile& file);

 private:
  struct Block {
    Family family = Family::kNone;
    double bytes = 0, rate = 1;
  };
  Block NewBlock(uint64_t keys, bool bloom_instead) const;
  Block BlockOf(uint64_t keys, bool bloom_instead, const PlannedFile& file);
  uint64_t KeysPerPartition(const PlannedFile& file, bool bloom_instead);

  const PolicySpec spec_;
  const FilterOptions options_;
  std::shared_ptr<const rocksdb::FilterPolicy> policy_;
  std::map<std::pair<uint64_t, bool>, Block> blocks_;  // by key count
  std::map<bool, uint64_t> keys_per_partition_;
};

}  // namespace rocksieve::tools
