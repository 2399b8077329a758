// SPDX-License-Identifier: Apache-2.0
// Key shares of files, beside trees whose keys are all known.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/budget/lookup_weights.h"

namespace rocksieve {
namespace {

using Random = std::mt19937_64;
using Keys = std::vector<std::string>;

// A tree whose files hold real keys.
class TreeOfKeys {
 public:
  // Cuts sorted keys into files of at most so many.
  void AddLevel(Keys keys, size_t keys_per_file) {
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size(); i += keys_per_file) {
      const size_t end = std::min(i + keys_per_file, keys.size());
      ends_.push_back({keys[i], keys[end - 1], end - i});
    }
    keys_.insert(keys_.end(), keys.begin(), keys.end());
  }

  void ExpectSharesWithin(double relative, double absolute) {
    std::sort(keys_.begin(), keys_.end());
    std::vector<BudgetedFile> ranges;
    for (const auto& [first, last, count] : ends_) ranges.push_back({first, last, count});
    const std::vector<double> shares = LookupWeights(ranges);
    ASSERT_EQ(shares.size(), ranges.size());
    for (size_t i = 0; i < ranges.size(); i++) {
      const auto begin = std::lower_bound(keys_.begin(), keys_.end(), ranges[i].smallest);
      const auto end = std::upper_bound(keys_.begin(), keys_.end(), ranges[i].largest);
      const double share = static_cast<double>(end - begin) / static_cast<double>(keys_.size());
      EXPECT_NEAR(shares[i], share, relative * share + absolute)
          << ranges[i].smallest << " .. " << ranges[i].largest;
    }
  }

 private:
  struct Ends {
    std::string first, last;
    size_t count;
  };
  std::vector<Ends> ends_;
  Keys keys_;
};

std::string Decimal(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "key%012llu", static_cast<unsigned long long>(number));
  return text;
}
std::string Binary(uint64_t number) {
  std::string text(16, '0');
  for (int i = 0; i < 8; i++) text[i] = static_cast<char>(number >> (56 - 8 * i));
  return text;
}
std::string Hexadecimal(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(number * 0x9E3779B97F4A7C15));
  return text;
}
// Half of all keys in a thousandth of the numbers.
std::string Skewed(uint64_t number) { return Decimal(number % 2 ? number : number / 1000); }

using KeyShape = std::string (*)(uint64_t);
class KeySharesOf : public testing::TestWithParam<KeyShape> {
 protected:
  Keys Draw(size_t count, uint64_t most = 3000000) {
    Keys keys;
    for (size_t i = 0; i < count; i++) keys.push_back(GetParam()(random_() % most));
    return keys;
  }
  Random random_{7};
};

TEST_P(KeySharesOf, AreThoseOfTheKeys) {
  TreeOfKeys tree;
  tree.AddLevel(Draw(60000), 2000);
  tree.AddLevel(Draw(8000), 2000);
  tree.AddLevel(Draw(1000), 1000);
  tree.AddLevel(Draw(1000), 1000);
  tree.ExpectSharesWithin(0.25, 0.01);
}

TEST_P(KeySharesOf, AreThoseOfTheKeysInUniversalTrees) {
  TreeOfKeys tree;
  for (const size_t count : {20000, 5000, 2000, 500}) tree.AddLevel(Draw(count), count);
  tree.ExpectSharesWithin(0.15, 0.01);
}

TEST_P(KeySharesOf, OfSequentialRunsAreTheirShareOfTheKeys) {
  TreeOfKeys tree;
  Keys keys;
  for (uint64_t i = 0; i < 20000; i++) keys.push_back(GetParam()(i));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const size_t run = keys.size() / 20;
  for (size_t i = 0; i < 20; i++) {
    tree.AddLevel(Keys(keys.begin() + i * run, keys.begin() + (i + 1) * run), run);
  }
  tree.ExpectSharesWithin(1e-6, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Shapes, KeySharesOf,
                         testing::Values(Decimal, Binary, Hexadecimal, Skewed));

// A small file in the middle of a large one: numbers tell its share.
TEST(LookupWeights, OfASmallFileInsideALargeOne) {
  Keys all, few;
  for (uint64_t i = 0; i < 100000; i++) all.push_back(Decimal(i));
  for (uint64_t i = 50000; i < 50100; i++) few.push_back(Decimal(i));
  const std::vector<double> shares =
      LookupWeights({{all.front(), all.back(), 100000}, {few.front(), few.back(), 100}});
  EXPECT_NEAR(shares[0], 1, 1e-9);
  EXPECT_LT(shares[1], 0.15);  // evenly it would be a third
  EXPECT_GE(shares[1], 0.001);
}

TEST(LookupWeights, OfOddTrees) {
  EXPECT_TRUE(LookupWeights({}).empty());
  EXPECT_EQ(LookupWeights({{"a", "z", 10}}), std::vector<double>{1});
  EXPECT_EQ(LookupWeights({{"a", "a", 1}}), std::vector<double>{1});
  EXPECT_EQ(LookupWeights({{"", "", 3}}), std::vector<double>{1});
  EXPECT_EQ(LookupWeights({{"a", "b", 0}}), std::vector<double>{0});
  // Largest first, as under a reverse comparator.
  EXPECT_EQ(LookupWeights({{"z", "a", 10}}), std::vector<double>{1});
  // Two files of the same single key meet all lookups of it.
  const std::vector<double> same = LookupWeights({{"a", "a", 5}, {"a", "a", 5}});
  EXPECT_NEAR(same[0], 1, 1e-9);
  EXPECT_NEAR(same[1], 1, 1e-9);
  // Ranges that touch: each meets its own keys and at most a few of the other.
  const std::vector<double> touching = LookupWeights({{"a", "m", 50}, {"m", "z", 50}});
  EXPECT_NEAR(touching[0], 0.5, 0.06);
  // A file of no entries still has the keys of the others in its range.
  const std::vector<double> empty = LookupWeights({{"a", "z", 100}, {"b", "y", 0}});
  EXPECT_GT(empty[1], 0.5);
}

TEST(KeyScale, KeepsTheOrder) {
  Random random(11);
  std::vector<std::string> keys;
  for (int i = 0; i < 500; i++) {
    std::string key = "common";
    for (uint64_t n = random() % 6; n > 0; n--) key += static_cast<char>(random() % 256);
    keys.push_back(key);
  }
  std::vector<std::string_view> sample(keys.begin(), keys.begin() + 100);
  const KeyScale scale(sample);
  std::sort(sample.begin(), sample.end());
  for (size_t i = 1; i < sample.size(); i++) {
    EXPECT_LE(scale.PositionOf(sample[i - 1]), scale.PositionOf(sample[i]));
  }
}

}  // namespace
}  // namespace rocksieve
