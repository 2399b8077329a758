// SPDX-License-Identifier: Apache-2.0
// Where lookups of absent keys go, learnt from samples of them. Pure functions of histograms.
//
// The live entries, in the order of their keys, are cut into bins of equally many. A density says
// how many lookups come to each bin, per entry; 1 everywhere: they are distributed like the live
// keys. Only its proportions matter.
#pragma once

#include <cstddef>
#include <vector>

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

}  // namespace rocksieve
