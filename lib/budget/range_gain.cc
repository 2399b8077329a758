// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/range_gain.h"

#include <algorithm>

namespace rocksieve {

bool RangesPay(const Hull& lookup_hull, const Hull& range_hull, const range::QueryMix& mix,
               double bits_per_key) {
  const auto count = static_cast<double>(mix.count());
  const double heard = count == 0 ? 0.5 : static_cast<double>(mix.range_count()) / count;
  const double share = std::max(heard, mix.least_share);
  const double with_lookup_filter = (1 - share) * lookup_hull.CostAt(bits_per_key) + share;
  const double with_range_filter =
      (1 - share + range::kCellsOfSmallRange * share) * range_hull.CostAt(bits_per_key);
  return with_range_filter < with_lookup_filter;
}

}  // namespace rocksieve
