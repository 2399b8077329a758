// SPDX-License-Identifier: Apache-2.0
// Where in the key space lookups of absent keys go, beside the live entries.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/budget/density_model.h"
#include "lib/budget/key_scale.h"
#include "lib/budget/lookup_weights.h"

namespace rocksieve {

// A sample of what was asked in a stretch of time.
struct HeardLookups {
  struct FalsePositive {
    std::string key;
    bool was_read = true;  // a block, from the storage; else it was in the block cache
  };
  std::vector<std::string> absent_keys;
  std::vector<FalsePositive> false_positives;
};

// Immutable, so any number of threads may use it.
class LookupDensity {
 public:
  // `files`: the tree; `stretches`: what was asked, the oldest first. A key that was asked over and
  // over in a stretch counts once. Null if the lookups are taken for even. Some milliseconds.
  static std::shared_ptr<const LookupDensity> Learn(const std::vector<BudgetedFile>& files,
                                                    const std::deque<HeardLookups>& stretches);

  // Lookups per live entry between the two keys, 1 being the whole tree's. Some 100 ns.
  double Between(std::string_view from, std::string_view to) const;

 private:
  // An even one.
  explicit LookupDensity(const std::vector<BudgetedFile>& files);

  // Before the key; in bins.
  double BinsBefore(std::string_view key) const;
  Bins Count(const std::vector<std::string_view>& keys) const;
  double SumBefore(double bins) const;

  KeyScale scale_;
  std::array<double, kDensityBins + 1> ends_;  // of the bins, as positions on the scale
  Bins density_;
  std::array<double, kDensityBins + 1> sums_;  // of the densities of the bins before each
};

}  // namespace rocksieve
