// SPDX-License-Identifier: Apache-2.0
// The golden bytes of tests/golden, which tests/python made from the format documents alone.
#pragma once

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/text.h"

namespace rocksieve {

// The entries of tests/golden/FILE.json: each its name, its bytes, and what they are made of.
inline nlohmann::json ReadGolden(const std::string& file) {
  std::ifstream text(std::string(ROCKSIEVE_GOLDEN_DIR) + "/" + file + ".json");
  EXPECT_TRUE(text) << file;
  return nlohmann::json::parse(text);
}

// Those of one entry, which are lines of hex.
inline std::string BytesOf(const nlohmann::json& entry) {
  std::string digits, bytes;
  for (const auto& line : entry.at("bytes")) digits += line.get<std::string>();
  EXPECT_TRUE(FromHexBytes(digits, &bytes)) << entry.at("name");
  return bytes;
}

}  // namespace rocksieve
