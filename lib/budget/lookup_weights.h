// SPDX-License-Identifier: Apache-2.0
// How the keys of a tree are distributed, as far as the ranges of its files tell.
//
// A lookup of a missing key meets a file if the key lies between the file's smallest and largest.
// If missing keys are distributed like the live ones, its probability is the share of the tree's
// entries that lie there, whatever level the file is at: that is the file's lookup weight.
//
// Where a file's entries lie inside its range is known only roughly: the ends of all ranges divide
// the key space into cells, and a file's entries are spread over its cells in proportion to their
// width, seen as numbers in the alphabet that the keys use, and for a small part evenly, in case
// those numbers say little. Where lookups were heard to go elsewhere, a density of them per entry
// says so (lookup_density.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rocksieve {

// A file of a tree, real or to come.
struct BudgetedFile {
  std::string_view smallest, largest;  // in either order
  uint64_t entries = 0;      // that count towards the budget: tombstones and old versions included
  uint64_t filter_keys = 0;  // distinct keys and prefixes of its filter
  // Bits of the filter that it has; negative if its bits are still to be decided.
  double filter_bits = -1;
  // Whether its entries bring memory to the budget, and its filter takes of it. Others, whose
  // filters somebody else made, only say where the keys are.
  bool budgeted = true;
};

class LookupDensity;

// The lookup weight of each file, 0 to 1. Without a `density` of lookups, missing keys are taken to
// be distributed like the live ones: it is at least the file's share of the entries. Files without
// entries have the share of their range. Cost: some 0.3 us per file and doubling of their number.
std::vector<double> LookupWeights(const std::vector<BudgetedFile>& files,
                                  const LookupDensity* density = nullptr);

// Those without a density, and those with one. Cost: some 0.2 us per file more.
struct BothLookupWeights {
  std::vector<double> even, heard;
};
BothLookupWeights LookupWeightsBothWays(const std::vector<BudgetedFile>& files,
                                        const LookupDensity& density);

}  // namespace rocksieve
