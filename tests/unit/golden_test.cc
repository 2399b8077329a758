// Blocks made by the independent encoder (tests/python), byte for byte.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/bloom/kernel.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

std::string ReadFile(const std::string& name) {
  std::ifstream file(std::string(ROCKSIEVE_GOLDEN_DIR) + "/" + name);
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string FromHex(const std::string& text) {
  std::string bytes, digits;
  for (char c : text) {
    if (std::isxdigit(static_cast<unsigned char>(c))) digits += c;
  }
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::vector<std::string> KeysOf(const nlohmann::json& entry) {
  const nlohmann::json& keys = entry.at("keys");
  std::vector<std::string> result;
  if (keys.is_array()) {
    for (const auto& key : keys) result.push_back(FromHex(key.get<std::string>()));
    return result;
  }
  const std::string pattern = keys.at("pattern");
  const size_t number = pattern.find("%d");
  for (int i = 0; i < keys.at("count").get<int>(); i++) {
    result.push_back(std::string(pattern).replace(number, 2, std::to_string(i)));
  }
  return result;
}

TEST(Golden, BlocksAreWhatTheFormatDocumentsSay) {
  const auto manifest = nlohmann::json::parse(ReadFile("manifest.json"));
  const auto& entries = manifest.is_array() ? manifest : manifest.at("entries");
  ASSERT_GE(entries.size(), 10u);
  for (const auto& entry : entries) {
    const std::string name = entry.at("file");
    SCOPED_TRACE(name);
    const std::string golden = FromHex(ReadFile(name));
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

}  // namespace
}  // namespace rocksieve
