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
  // Of keys that filters passed: whether the key was found, and whether a block was read from the
  // storage for it; else it was in the block cache.
  struct Passed {
    std::string key;
    bool was_found = false, was_read = true;
  };
  std::vector<std::string> absent_keys;  // quicker to learn from in order
  std::vector<Passed> passed;
};

// Immutable, so any number of threads may use it.
class LookupDensity {
 public:
  // `files`: the tree; `stretches`: what was asked, the oldest first. A key that was asked over and
  // over in a stretch counts once. Null if the lookups are taken for even. Some milliseconds.
  static std::shared_ptr<const LookupDensity> Learn(const std::vector<BudgetedFile>& files,
                                                    const std::deque<HeardLookups>& stretches);

  // Of a key, in bins. Some 50 ns.
  double PlaceOf(std::string_view key) const;

  // Lookups per live entry between the two places, 1 being the whole tree's. A few ns.
  double Between(double begin, double end) const;

 private:
  // An even one.
  explicit LookupDensity(const std::vector<BudgetedFile>& files);

  void Count(std::string_view key, double weight, Bins* counts) const;
  double SumBefore(double bins) const;

  KeyScale scale_;
  std::array<double, kDensityBins + 1> ends_;  // of the bins, as positions on the scale
  Bins density_;
  std::array<double, kDensityBins + 1> sums_;  // of the densities of the bins before each
};

}  // namespace rocksieve
