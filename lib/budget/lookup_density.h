// SPDX-License-Identifier: Apache-2.0
// Where lookups of absent keys go, learnt from samples of them. Pure functions of histograms.
//
// The live entries, in the order of their keys, are cut into bins of equally many. A density says
// how many lookups come to each bin, per entry; 1 everywhere: they are distributed like the live
// keys. Only its proportions matter.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/budget/lookup_weights.h"

namespace rocksieve {

// A power of two.
inline constexpr size_t kDensityBins = 256;

using Bins = std::vector<double>;  // kDensityBins numbers

inline constexpr double kLeastDensity = 1.0 / 16;

// The density that these samples let expect. As fine as the samples bear out: halves of halves of
// the key space are told apart where their samples are too different for chance (context tree
// weighting: Willems, Shtarkov, Tjalkens, 1995; here on the tree of dyadic intervals).
Bins SmoothDensity(const Bins& counts);

// The share of accesses to each bin that read from the storage, given those that did and all that
// were seen. Bins that were hardly accessed are not cached: 1.
Bins ReadShare(const Bins& reads, const Bins& accesses);

// False-positive reads with filters for this density over those with filters for an even one, of
// the same memory, where lookups come as in `counts`. Filters have bits = c + log2(density), and so
// a rate of 2^-bits. 1 if there are no counts.
double CostBesideEven(const Bins& density, const Bins& counts);

// `stretches` of time, the oldest first, and of each where its lookups went. The density to build
// filters with that live through the next stretches: of those that differ in how far they look back
// and how far they go from even, the one that would have served best until now, had each of the
// stretches been predicted from those before it. All 1 unless that saves something.
Bins BestDensity(const std::vector<Bins>& stretches);

// Where in the key space lookups of absent keys go, beside the live entries.

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
