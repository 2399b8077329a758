// Keys that an attacker chose: a filter without a salt is known to everybody who knows its keys.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rocksieve/filter.h>

#include "tests/support.h"

namespace rocksieve {
namespace {

constexpr size_t kChosen = 100000;

// Missing keys that pass the filter, found by trying.
std::vector<std::string> KeysThatPass(const Filter& filter) {
  std::vector<std::string> chosen;
  for (uint64_t i = 0; chosen.size() < kChosen; i++) {
    std::string key = "attack" + std::to_string(i);
    if (filter.MayContain(key)) chosen.push_back(std::move(key));
  }
  return chosen;
}

size_t CountPassing(const Filter& filter, const std::vector<std::string>& keys) {
  size_t passing = 0;
  for (const std::string& key : keys) passing += filter.MayContain(key);
  return passing;
}

class ChosenKeys : public ::testing::TestWithParam<const char*> {};

TEST_P(ChosenKeys, PassTheUnsaltedFilterAndNotTheSaltedOne) {
  const std::string text = GetParam();
  const std::vector<std::string> keys = NumberedKeys(20000);
  const FilterBlock plain_block = BuildFilter(Spec(text), keys);
  const OpenedFilter plain = OpenFilter(plain_block.view());
  const std::vector<std::string> chosen = KeysThatPass(*plain.filter);
  EXPECT_EQ(CountPassing(*plain.filter, chosen), kChosen);

  const FilterBlock salted_block = BuildFilter(Spec(text + ":salted"), keys);
  const OpenedFilter salted = OpenFilter(salted_block.view());
  const double rate = ExpectedFalsePositiveRate(salted.info);
  const double expected = rate * kChosen;
  EXPECT_NEAR(static_cast<double>(CountPassing(*salted.filter, chosen)), expected,
              0.1 * expected + 5 * std::sqrt(expected))
      << "salt " << salted.info.salt;
}

INSTANTIATE_TEST_SUITE_P(Families, ChosenKeys,
                         ::testing::Values("rocksieve.bloom:8", "rocksieve.cuckoo:8",
                                           "rocksieve.ribbon:8"));

}  // namespace
}  // namespace rocksieve
