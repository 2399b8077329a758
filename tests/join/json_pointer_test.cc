// SPDX-License-Identifier: Apache-2.0
// Scalars in JSON documents, and decimal numbers as text.
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/join/join_key/json_pointer.h"

namespace rocksieve::join {
namespace {

using Found = std::optional<std::string>;

TEST(Decimal, EqualNumbersAreEqualText) {
  const std::map<std::string, std::string> numbers = {
      {"0", "0"},
      {"-0", "0"},
      {"0.000e9", "0"},
      {"1.0", "1"},
      {"+01", "1"},
      {"10e-1", "1"},
      {"1E0", "1"},
      {".5", "0.5"},
      {"5.", "5"},
      {"-0.50", "-0.5"},
      {"1e3", "1000"},
      {"12345.678e2", "1234567.8"},
      {"12345678901234567890123456789012345", "12345678901234567890123456789012345"},
      {"1e20", "100000000000000000000"},
      {"1e21", "1e+21"},
      {"1.50e300", "1.5e+300"},
      {"0.00000000000000000000015", "1.5e-22"},
      {"0.000000000000000000001", "0.000000000000000000001"},
      {"1e-22", "1e-22"}};
  for (const auto& [text, canonical] : numbers) {
    std::string found;
    EXPECT_TRUE(CanonicalDecimal(text, &found)) << text;
    EXPECT_EQ(found, canonical);
    std::string again;
    EXPECT_TRUE(CanonicalDecimal(found, &again));
    EXPECT_EQ(again, found);
  }
  for (const char* text : {"", "-", ".", "e1", "1e", "1e+", "0x1", " 1", "1 ", "1.2.3", "nan",
                           "inf", "1e99999999999999999999"}) {
    std::string found;
    EXPECT_FALSE(CanonicalDecimal(text, &found)) << text;
  }
}

Found FindJson(const std::string& pointer, const std::string& json) {
  const absl::StatusOr<JsonPointer> parsed = JsonPointer::Parse(pointer);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  std::string scalar;
  if (!parsed->Find(json, &scalar)) return std::nullopt;
  return scalar;
}

TEST(JsonPointer, FindsScalars) {
  const std::string json = R"({"id": 7, "customer": {"id": "c\u00e4\n", "tags": ["x", {"y": true}]},
      "none": null, "big": 12345678901234567890123, "half": 0.50, "a/b": {"m~n": false}, "": -0})";
  EXPECT_EQ(FindJson("/id", json), "7");
  EXPECT_EQ(FindJson("/customer/id", json), "c\xc3\xa4\n");
  EXPECT_EQ(FindJson("/customer/tags/0", json), "x");
  EXPECT_EQ(FindJson("/customer/tags/1/y", json), "true");
  EXPECT_EQ(FindJson("/customer/tags/2", json), std::nullopt);
  EXPECT_EQ(FindJson("/customer/tags/00", json), std::nullopt);
  EXPECT_EQ(FindJson("/customer/tags/-", json), std::nullopt);
  EXPECT_EQ(FindJson("/customer", json), std::nullopt);
  EXPECT_EQ(FindJson("/none", json), std::nullopt);
  EXPECT_EQ(FindJson("/big", json), "12345678901234567890123");
  EXPECT_EQ(FindJson("/half", json), "0.5");
  EXPECT_EQ(FindJson("/a~1b/m~0n", json), "false");
  EXPECT_EQ(FindJson("/", json), "0");
  EXPECT_EQ(FindJson("/id/id", json), std::nullopt);
  EXPECT_EQ(FindJson("", "17"), "17");
  EXPECT_EQ(FindJson("", json), std::nullopt);
}

TEST(JsonPointer, OfEqualNamesTheLastCounts) {
  EXPECT_EQ(FindJson("/a", R"({"a":1,"a":2})"), "2");
  EXPECT_EQ(FindJson("/a", R"({"a":1,"a":null})"), std::nullopt);
  EXPECT_EQ(FindJson("/a/b", R"({"a":{"b":1},"a":{"c":2}})"), std::nullopt);
  EXPECT_EQ(FindJson("/a/b", R"({"a":{"b":1},"a":7})"), std::nullopt);
  EXPECT_EQ(FindJson("/a/b", R"({"a":7,"a":{"b":1}})"), "1");
}

TEST(JsonPointer, WhatIsNotJsonHasNothing) {
  for (const char* json : {"", "{", "{\"a\":1", "{\"a\":1}x", "a", "{\"a\":\"\xff\"}", "[1,]"}) {
    EXPECT_EQ(FindJson("/a", json), std::nullopt) << json;
  }
  EXPECT_EQ(FindJson("/a", std::string(200000, '[')), std::nullopt);
}

TEST(JsonPointer, NumbersBeyondDoublesAreNumbers) {
  const std::string digits = "7" + std::string(398, '3') + "1";
  const std::string json =
      R"({"a": 1e400, "b\\": "x1e400\"2", "c": -0, "d": [-1.50E+999, 2, {"e": )" + digits +
      R"(}], "1e401": true, "f": 0.5e1, "g": 12345678901234567890,)" +
      R"("h": 1e-400, "a": 20e399, "none": null})";
  EXPECT_EQ(FindJson("/a", json), "2e+400");
  EXPECT_EQ(FindJson("/b\\", json), "x1e400\"2");
  EXPECT_EQ(FindJson("/c", json), "0");
  EXPECT_EQ(FindJson("/d/0", json), "-1.5e+999");
  EXPECT_EQ(FindJson("/d/1", json), "2");
  EXPECT_EQ(FindJson("/d/2/e", json), digits);
  EXPECT_EQ(FindJson("/1e401", json), "true");
  EXPECT_EQ(FindJson("/f", json), "5");
  EXPECT_EQ(FindJson("/g", json), "12345678901234567890");
  EXPECT_EQ(FindJson("/h", json), "1e-400");
  EXPECT_EQ(FindJson("/none", json), std::nullopt);
  EXPECT_EQ(FindJson("/d", json), std::nullopt);
  EXPECT_EQ(FindJson("", "1e400"), "1e+400");
  EXPECT_EQ(FindJson("", " -" + digits + " "), "-" + digits);
  EXPECT_NE(FindJson("", digits + "1"), FindJson("", digits + "2"));
}

TEST(JsonPointer, ManyNumbersBeyondDoublesTakeLinearTime) {
  std::string json = "[0,";
  constexpr int kNumbers = 200000;  // in quadratic time, hours
  for (int i = 1; i < kNumbers; i++) json += std::to_string(i) + "1e400,";
  json += "{\"last\":\"here\"}]";
  EXPECT_EQ(FindJson("/" + std::to_string(kNumbers) + "/last", json), "here");
  EXPECT_EQ(FindJson("/123456", json), "1.234561e+406");
}

TEST(JsonPointer, NumbersBeyondDoublesMakeNoJsonOfGarbage) {
  for (const char* rest :
       {"", "}x", ",}", ",\"b\":01}", ",\"b\":1-2}", ",\"b\":.5}", ",\"b\":+1}", ",\"b\":1.}",
        ",\"b\":1e}", ",\"b\":-}", ",\"b\":1 2}", ",\"b\":1e400e1}", ",\"b\":01e400}",
        ",\"b\":1e400.5}", ",\"b\":\"\\", ",\"b\":\"", " 1}", "true}", ",\"b\":tru1e400}"}) {
    EXPECT_EQ(FindJson("/a", std::string("{\"a\":1e400") + rest), std::nullopt) << rest;
  }
  EXPECT_EQ(FindJson("/a", "{\"a\":1e400}"), "1e+400");
}

// Against the library's own pointers, on random documents.
TEST(JsonPointer, AgreesWithADocumentTree) {
  using Json = nlohmann::json;
  std::mt19937_64 random(3);
  const std::function<Json(int)> make = [&](int depth) -> Json {
    switch (random() % (depth > 0 ? 6 : 4)) {
      case 0:
        return nullptr;
      case 1:
        return random() % 100;
      case 2:
        return random() % 2 == 0;
      case 3:
        return std::string(1, static_cast<char>('a' + random() % 3));
      case 4: {
        Json array = Json::array();
        for (size_t i = random() % 4; i > 0; i--) array.push_back(make(depth - 1));
        return array;
      }
      default: {
        Json object = Json::object();
        for (const char* name : {"a", "b", "0", "1"}) {
          if (random() % 2 == 0) object[name] = make(depth - 1);
        }
        return object;
      }
    }
  };
  size_t found = 0;
  for (int i = 0; i < 20000; i++) {
    const Json json = make(4);
    std::string pointer;
    for (size_t steps = random() % 5; steps > 0; steps--) {
      pointer += std::string("/") + "ab01"[random() % 4];
    }
    Found expected;
    const Json::json_pointer place(pointer);
    if (json.contains(place)) {
      const Json& there = json[place];
      if (there.is_string()) expected = there.get<std::string>();
      if (there.is_number() || there.is_boolean()) expected = there.dump();
    }
    found += expected.has_value();
    ASSERT_EQ(FindJson(pointer, json.dump()), expected) << pointer << " in " << json;
  }
  EXPECT_GT(found, 1000u);
}

}  // namespace
}  // namespace rocksieve::join
