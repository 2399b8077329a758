// The range of a filter against the smallest and largest key that a sort finds.
#include "lib/format/key_range.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rocksieve {
namespace {

bool Covers(const KeyRange& range, std::string_view key) {
  if (key < range.smallest()) return false;
  return key <= range.largest() ||
         (range.largest_cut() && key.substr(0, range.largest().size()) == range.largest());
}

TEST(KeyRange, CoversEveryKeyAndNoMoreThanItMust) {
  const unsigned seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; round++) {
    KeyRange range;
    std::vector<std::string> keys(1 + random() % 6);
    for (std::string& key : keys) {
      // Long equal beginnings, so that keys differ at, before and after the place of the cut.
      key = std::string(random() % 2 ? 30 : 0, 'a');
      for (size_t more = random() % 6; more > 0; more--)
        key += static_cast<char>('a' + random() % 2);
      range.Cover(key);
    }
    for (const std::string& key : keys) EXPECT_TRUE(Covers(range, key)) << key;
    const auto [smallest, largest] = std::minmax_element(keys.begin(), keys.end());
    EXPECT_EQ(range.smallest(), smallest->substr(0, kMaxRangeKeyBytes));
    EXPECT_EQ(range.largest(), largest->substr(0, kMaxRangeKeyBytes));
    EXPECT_EQ(range.largest_cut(), largest->size() > kMaxRangeKeyBytes);
  }
}

TEST(KeyRange, AKeyOfExactlyTheBoundIsNotCut) {
  KeyRange range;
  range.Cover(std::string(kMaxRangeKeyBytes, 'x'));
  EXPECT_FALSE(range.largest_cut());
  range.Cover(std::string(kMaxRangeKeyBytes + 1, 'x'));
  EXPECT_TRUE(range.largest_cut());
}

TEST(KeyRange, BytesAreUnsigned) {
  KeyRange range;
  range.Cover("\x7F");
  range.Cover("\x80");
  EXPECT_EQ(range.smallest(), "\x7F");
  EXPECT_EQ(range.largest(), "\x80");
}

}  // namespace
}  // namespace rocksieve
