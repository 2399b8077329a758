// Keys that look like others.
#include "plugin/probe/key_shape.h"

#include <gtest/gtest.h>

namespace rocksieve::tools {
namespace {

TEST(KeyShape, DigitsStayDigitsAndDashesDashes) {
  KeyShape shape;
  for (const char* key : {"2021-05-17", "1999-12-01", "2010-01-30"}) shape.Learn(key);
  Random random(1);
  int made = 0;
  for (int i = 0; i < 1000; i++) {
    const std::string key = shape.Variation("2010-01-30", 2, "2010", "2021-99", &random);
    if (key.empty()) continue;
    made++;
    ASSERT_EQ(key.size(), 10u);
    EXPECT_EQ(key.substr(0, 2), "20");
    EXPECT_EQ(key[4], '-');
    EXPECT_EQ(key[7], '-');
    EXPECT_GE(key, "2010");
    EXPECT_LE(key.substr(0, 7), "2021-99");
    EXPECT_EQ(key.find_first_not_of("0123456789-"), std::string::npos) << key;
  }
  EXPECT_GT(made, 500);
}

TEST(KeyShape, LongerKeysBeginWithTheKey) {
  KeyShape shape;
  shape.Learn("abc");
  Random random(2);
  for (int i = 0; i < 100; i++) {
    const std::string key = shape.Longer("abc", &random);
    EXPECT_EQ(key.substr(0, 3), "abc");
    EXPECT_GT(key.size(), 3u);
    EXPECT_LE(key.size(), 11u);
  }
}

// Keys in pairs that share six bytes, where pairs share two: so does a key between pairs.
TEST(KeyShape, SharesAsMuchWithANeighbourAsOthersDo) {
  KeyShape shape;
  shape.Learn("aa1111xx", "aa2222pp", "aa2222qq");
  shape.Learn("aa2222pp", "aa2222qq", "aa3333mm");
  Random random(3);
  for (int i = 0; i < 10; i++) EXPECT_EQ(shape.LikelyCommonBytes(2, &random), 6u);
  EXPECT_EQ(KeyShape().LikelyCommonBytes(2, &random), 2u);
}

TEST(KeyBetween, LiesBetween) {
  Random random(4);
  const std::string far(200, 'k');
  const std::pair<std::string, std::string> ends[] = {
      {"a", "b"}, {"", "z"}, {"abc", "abcd"}, {far + "1", far + "9"}, {"b", "a"}};
  for (const auto& [low, high] : ends) {
    for (int i = 0; i < 100; i++) {
      const std::string key = KeyBetween(low, high, &random);
      EXPECT_GT(key, std::min(low, high));
      EXPECT_LT(key, std::max(low, high));
    }
  }
  EXPECT_EQ(KeyBetween("same", "same", &random), "same");
}

}  // namespace
}  // namespace rocksieve::tools
