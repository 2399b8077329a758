// SPDX-License-Identifier: Apache-2.0
// Short hashes that are divided by their upper bits, beside a sort of all.
#include "lib/join/matching/candidates.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace rocksieve::join {
namespace {

TEST(ShortHashes, AreSortedAsAWhole) {
  std::mt19937_64 random(1);
  for (const size_t count : {0, 1, 2, 3, 4, 5, 100, 10'000}) {
    for (const int bits : {0, 3, 20}) {  // many values are equal, hardly any are
      Candidates candidates(count);
      for (uint32_t i = 0; i < count; i++) candidates[i] = {{random(), random()}, 2 * i};
      ShortHashes list;
      list.salt = random();
      list.universe = std::max<uint64_t>(1, count) << bits;
      std::vector<ShortHash> expected;
      for (uint32_t i = 0; i < count; i++) expected.push_back({list.ValueOf(candidates[i]), i});
      std::sort(expected.begin(), expected.end());
      PageVector<ShortHash> sorted = SortedShortHashes(candidates, list);
      EXPECT_TRUE(
          std::is_sorted(sorted.begin(), sorted.end(),
                         [](const ShortHash& a, const ShortHash& b) { return a.value < b.value; }));
      std::sort(sorted.begin(), sorted.end());  // where values are equal
      EXPECT_TRUE(std::equal(sorted.begin(), sorted.end(), expected.begin(), expected.end()))
          << count << " candidates, " << bits << " bits";
    }
  }
}

}  // namespace
}  // namespace rocksieve::join
