// SPDX-License-Identifier: Apache-2.0
// Blocks made by the independent encoder (tests/python), byte for byte.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/filter/builder.h"
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
  if (keys.contains("step")) {
    uint64_t number = keys.at("first");
    for (int i = 0; i < keys.at("count").get<int>();
         i++, number += keys.at("step").get<uint64_t>()) {
      result.emplace_back(8, '\0');
      for (int byte = 0; byte < 8; byte++) {
        result.back()[static_cast<size_t>(7 - byte)] = static_cast<char>(number >> (8 * byte));
      }
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

FilterBlock BlockOf(const nlohmann::json& entry, const std::vector<std::string>& keys) {
  BlockBuilder builder(Spec(entry.at("spec").get<std::string>()));
  if (entry.at("name").get<std::string>().find("partition") != std::string::npos) {
    builder.SetIsPartition();
  }
  for (const std::string& key : keys) builder.AddKey(key);
  return builder.Finish();
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
    for (const std::string& key : keys) {
      EXPECT_TRUE(opened.filter->MayContain(key));
      EXPECT_TRUE(opened.filter->MayContainRange(key, key + '\0'));
    }
    // A salted builder draws its own salt, and what older versions wrote is no longer written: only
    // the reader can be held to those.
    const FilterSpec spec = Spec(entry.at("spec").get<std::string>());
    if (!spec.salted && !entry.contains("frame")) {
      EXPECT_TRUE(BlockOf(entry, keys).view() == golden);  // unprintable
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenTest,
                         testing::Values("bloom", "cuckoo", "range", "ribbon"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace rocksieve
