// SPDX-License-Identifier: Apache-2.0
#include "lib/ribbon/elimination.h"

#include <algorithm>

namespace rocksieve::ribbon {

Equation EquationInLastBucket(const Row& row, uint64_t first_group, uint64_t hash,
                              uint64_t groups) {
  if (first_group + row.ThirdGroupDistance() < groups) return EquationOf(row, first_group, hash);
  const auto first = static_cast<int64_t>(first_group);
  const auto end = static_cast<int64_t>(groups);
  const int64_t chunk_groups[3] = {
      first, Folded(first + 1, end),
      Folded(first + static_cast<int64_t>(row.ThirdGroupDistance()), end)};
  const int64_t leftmost = *std::min_element(chunk_groups, chunk_groups + 3);
  uint64_t coefficients = 0;
  for (int i = 0; i < 3; i++) {
    coefficients |= uint64_t{row.Coefficients() >> (8 * i) & 0xFF}
                    << (kSlotsPerGroup * (chunk_groups[i] - leftmost));
  }
  return {coefficients, static_cast<uint32_t>(leftmost * kSlotsPerGroup), Fingerprint(hash)};
}

}  // namespace rocksieve::ribbon
