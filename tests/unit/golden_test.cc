// SPDX-License-Identifier: Apache-2.0
// Blocks made by the independent encoder (tests/python), byte for byte.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/golden.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

std::vector<std::string> KeysOf(const nlohmann::json& entry) {
  const nlohmann::json& keys = entry.at("keys");
  std::vector<std::string> result;
  if (keys.is_array()) {
    for (const auto& hex : keys) {
      std::string& key = result.emplace_back();
      EXPECT_TRUE(hex == "" || FromHexBytes(hex.get<std::string>(), &key)) << hex;
    }
    return result;
  }
  const std::string pattern = keys.at("pattern");
  const size_t number = pattern.find("%d");
  for (int i = 0; i < keys.at("count").get<int>(); i++) {
    result.push_back(std::string(pattern).replace(number, 2, std::to_string(i)));
  }
  return result;
}

class GoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, BlocksAreWhatTheFormatDocumentsSay) {
  const nlohmann::json entries = ReadGolden(GetParam());
  ASSERT_GE(entries.size(), 10u);
  for (const auto& entry : entries) {
    SCOPED_TRACE(entry.at("name"));
    const std::string golden = BytesOf(entry);
    const ExactCopy copy(golden);
    const OpenedFilter opened = OpenFilter(copy.view());
    ASSERT_EQ(opened.state, BlockState::kIntact);
    const std::vector<std::string> keys = KeysOf(entry);
    for (const std::string& key : keys) EXPECT_TRUE(opened.filter->MayContain(key));
    // A salted builder draws its own salt, so only the reader can be held to those.
    const FilterSpec spec = Spec(entry.at("spec").get<std::string>());
    if (!spec.salted) {
      EXPECT_TRUE(BuildFilter(spec, keys).view() == golden);  // unprintable
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenTest, testing::Values("bloom", "cuckoo", "ribbon"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace rocksieve
