// SPDX-License-Identifier: Apache-2.0
// Where the data of a column family lies among all possible keys.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"

namespace rocksieve {

using Random = std::mt19937_64;

// How many bytes two keys have in common at their fronts.
size_t CommonBytes(std::string_view a, std::string_view b);

// A key between two others, at random; `low` if there is none that differs from both. Bytewise.
std::string KeyBetween(std::string_view low, std::string_view high, Random* random);

// The key space, cut into intervals that hold about equally much data: by the ranges of the files,
// and within them by RocksDB's indexes (GetApproximateSizes), so that no data is read.
class KeySpace {
 public:
  KeySpace(const Database& database, size_t family, const Tree& tree);

  // Every piece of data is about as likely to be near. REQUIRES: !empty().
  std::string RandomPlace(Random* random) const;

  bool empty() const { return intervals_.empty(); }

 private:
  struct Interval {
    std::string low, high;
    uint64_t bytes = 0;
  };
  void Split(const Database& database, size_t family, Interval interval, uint64_t enough,
             Random* random);

  uint64_t splits_ = 0;
  std::vector<Interval> intervals_;
  std::vector<double> bytes_up_to_;  // of the intervals so far, for drawing one
};

}  // namespace rocksieve
