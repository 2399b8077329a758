// SPDX-License-Identifier: Apache-2.0
// Whether a filter for lookups or one for ranges is the better use of so many bits.
#pragma once

#include "lib/budget/hull.h"
#include "lib/range/query_mix.h"

namespace rocksieve {

// Whether the reads that missing keys and empty ranges cost together, asked in the proportion of
// `mix`, are fewer with a filter of `range_hull` than with one of `lookup_hull`, both of so many
// bits per key. To the latter, every range may hold something. As long as nothing was asked, as
// many ranges as lookups are assumed, and never fewer than mix.least_share.
// Cost: some 100 ns.
bool RangesPay(const Hull& lookup_hull, const Hull& range_hull, const range::QueryMix& mix,
               double bits_per_key);

}  // namespace rocksieve
