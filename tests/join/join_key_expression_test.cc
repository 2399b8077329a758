// SPDX-License-Identifier: Apache-2.0
// What join keys are extracted, how expressions are written, and what is said about mistakes.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/join_key/json_pointer.h"
#include "lib/join/rows/key_list.h"
#include "tests/join/in_memory.h"

namespace rocksieve::join {

// Scalars in JSON documents, and decimal numbers as text.

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

namespace {

using Found = std::optional<std::string>;

Found Extract(const std::string& text, const Row& row) {
  const absl::StatusOr<JoinKeyExpression> expression = JoinKeyExpression::Parse(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  std::string found;
  if (!expression.ok() || !expression->Extract(row, &found)) return std::nullopt;
  return found;
}

TEST(JoinKeyExpression, TakesPartsOfKeyAndValue) {
  const Row row{"user:0042|x", "a|bc||d"};
  EXPECT_EQ(Extract("key", row), "user:0042|x");
  EXPECT_EQ(Extract("value", row), "a|bc||d");
  EXPECT_EQ(Extract("key.bytes(5,4)", row), "0042");
  EXPECT_EQ(Extract("key.bytes(0)", row), "user:0042|x");
  EXPECT_EQ(Extract("key.bytes(11)", row), "");
  EXPECT_EQ(Extract("key.bytes(12)", row), std::nullopt);
  EXPECT_EQ(Extract("key.bytes(9,3)", row), std::nullopt);
  EXPECT_EQ(Extract("key.bytes(-1)", row), "x");
  EXPECT_EQ(Extract("key.bytes(-6,4)", row), "0042");
  EXPECT_EQ(Extract("key.bytes(-12,1)", row), std::nullopt);
  EXPECT_EQ(Extract("value.field(|,1)", row), "a");
  EXPECT_EQ(Extract("value.field(|,3)", row), "");
  EXPECT_EQ(Extract("value.field(|,4)", row), "d");
  EXPECT_EQ(Extract("value.field(|,5)", row), std::nullopt);
  EXPECT_EQ(Extract("value.field(||,2)", row), "d");
  EXPECT_EQ(Extract("key.field(:,2).field(|,1).number()", row), "42");
  EXPECT_EQ(Extract("value.field(\\x7c,2)", row), "bc");
  EXPECT_EQ(Extract("value.field(|,9)", {"", ""}), std::nullopt);
  EXPECT_EQ(Extract("value.field(\\,,2)", {"", "a,b"}), "b");
  EXPECT_EQ(Extract("value.field(\\t,2)", {"", "a\tb"}), "b");
}

TEST(JoinKeyExpression, ReadsBinaryNumbersAsDecimalText) {
  const std::string bytes("\0\0\1\2", 4);
  EXPECT_EQ(Extract("key.uint_be()", {bytes, ""}), "258");
  EXPECT_EQ(Extract("key.uint_le()", {bytes, ""}), "33619968");
  EXPECT_EQ(Extract("key.uint_be()", {std::string(8, '\xff'), ""}), "18446744073709551615");
  EXPECT_EQ(Extract("key.uint_be()", {std::string(9, '\0'), ""}), std::nullopt);
  EXPECT_EQ(Extract("key.uint_be()", {"", ""}), std::nullopt);
}

TEST(JoinKeyExpression, HasACanonicalForm) {
  for (const auto& [text, canonical] : std::map<std::string, std::string>{
           {"key", "key"},
           {"value", "value"},
           {"key.bytes(2,8)", "key.bytes(2,8)"},
           {"key.bytes(007)", "key.bytes(7)"},
           {"value.field(\\x7c,03)", "value.field(|,3)"},
           {"value.field(\t,1)", "value.field(\\t,1)"},
           {"value.field(\\,,1)", "value.field(\\,,1)"},
           {"value.field(\xc3\xa4,1)", "value.field(\\xc3\\xa4,1)"},
           {"value.json(/a\\,b)", "value.json(/a\\,b)"},
           {"value.json()", "value.json()"},
           {"key.bytes(0,8).uint_be()", "key.bytes(0,8).uint_be()"}}) {
    const absl::StatusOr<JoinKeyExpression> parsed = JoinKeyExpression::Parse(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->text(), canonical);
    const absl::StatusOr<JoinKeyExpression> again = JoinKeyExpression::Parse(canonical);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->text(), canonical);
    EXPECT_EQ(parsed->is_whole_key(), text == "key");
  }
}

TEST(JoinKeyExpression, SaysWhatIsWrong) {
  for (const auto& [text, says] :
       std::map<std::string, std::string>{{"", "It is key or value"},
                                          {"kye", "It is key or value"},
                                          {"keys", "It is key or value"},
                                          {"key ", "It is key or value"},
                                          {"key.", "It is key or value"},
                                          {"key.bytes", "It is key or value"},
                                          {"key[2:8]", "written key.bytes(OFFSET,LENGTH)"},
                                          {"key.bytes(2,8", "closing parenthesis is missing"},
                                          {"key.bytes()", "takes an offset"},
                                          {"key.bytes(1,0)", "takes an offset"},
                                          {"key.bytes(1,2,3)", "takes an offset"},
                                          {"key.bytes(1x)", "takes an offset"},
                                          {"key.bytes(99999999999999999999)", "takes an offset"},
                                          {"value.field(|)", "takes a delimiter"},
                                          {"value.field(,,2)", "takes a delimiter"},
                                          {"value.field(|,0)", "counted from 1"},
                                          {"value.json(a)", "begins with a slash"},
                                          {"value.json(/a~2)", "tilde is written ~0"},
                                          {"value.jsno(/a)", "jsno is not known; there are bytes"},
                                          {"value.number(1)", "takes nothing"},
                                          {"value.field(\\q,1)", "after a backslash"},
                                          {"value.field(\\x7,1)", "after a backslash"},
                                          {"@customer", "no function @customer is registered"}}) {
    const absl::StatusOr<JoinKeyExpression> parsed = JoinKeyExpression::Parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.status().message().find(says), absl::string_view::npos)
        << text << ": " << parsed.status();
    EXPECT_NE(parsed.status().message().find(text), absl::string_view::npos) << parsed.status();
  }
}

TEST(JoinKeyExpression, MayBeAFunction) {
  const NamedExtractors named = {{"length", [](const Row& row, std::string* join_key) {
                                    *join_key = std::to_string(row.value.size());
                                    return !row.value.empty();
                                  }}};
  const absl::StatusOr<JoinKeyExpression> expression = JoinKeyExpression::Parse("@length", named);
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_EQ(expression->text(), "@length");
  std::string found;
  EXPECT_TRUE(expression->Extract({"", "four"}, &found));
  EXPECT_EQ(found, "4");
  EXPECT_FALSE(expression->Extract({"", ""}, &found));
  EXPECT_FALSE(JoinKeyExpression::Parse("@size", named).ok());
}

// What sorting gives, without sorting.
TEST(KeyPrefixSource, IsAJoinKeySource) {
  std::mt19937_64 random(4);
  auto random_key = [&random] {
    std::string key(random() % 7, '\0');
    for (char& byte : key) byte = "\0ab\xff"[random() % 4];
    return key;
  };
  MemorySource::Rows rows;
  for (int i = 0; i < 3000; i++) rows.emplace_back(random_key(), std::to_string(i));
  MemorySource base(rows);
  const auto read = [](std::unique_ptr<Cursor> cursor) {
    MemorySource::Rows found;
    Row row;
    while (cursor != nullptr && cursor->Next(&row)) found.emplace_back(row.key, row.value);
    return found;
  };
  for (size_t bytes : {1, 3, 6}) {
    const JoinKeyExpression expression =
        *JoinKeyExpression::Parse("key.bytes(0," + std::to_string(bytes) + ")");
    ASSERT_EQ(expression.key_prefix_bytes(), bytes);
    const auto sorted = JoinKeySource::Sort(&base, expression);
    ASSERT_TRUE(sorted.ok());
    KeyPrefixSource prefixes(std::make_unique<MemorySource>(rows), bytes);
    EXPECT_TRUE(read(prefixes.ScanAbsent()) == read((*sorted)->ScanAbsent()));
    for (int i = 0; i < 200; i++) {
      KeyInterval interval{i == 0 ? "" : random_key(), std::nullopt};
      if (i % 3 != 0) interval.end = random_key();
      ASSERT_TRUE(read(prefixes.Scan(interval)) == read((*sorted)->Scan(interval)));
    }
  }
  for (const char* text : {"key", "key.bytes(1,3)", "key.bytes(0)", "value.bytes(0,3)",
                           "key.bytes(0,3).number()", "key.bytes(-3,3)"}) {
    EXPECT_EQ(JoinKeyExpression::Parse(text)->key_prefix_bytes(), 0u) << text;
  }
}

TEST(JoinKeySource, SortsByTheJoinKeyAndKeepsTheRest) {
  MemorySource::Rows rows;
  std::multimap<std::string, std::pair<std::string, std::string>> expected;
  std::set<std::pair<std::string, std::string>> absent;
  std::mt19937_64 random(9);
  for (int i = 0; i < 5000; i++) {
    const std::string key = "k" + std::to_string(i);
    const std::string value =
        random() % 4 == 0 ? "none" : "x|" + std::to_string(random() % 700) + (i % 2 ? "|tail" : "");
    rows.emplace_back(key, value);
  }
  const JoinKeyExpression expression = *JoinKeyExpression::Parse("value.field(|,2)");
  MemorySource base(rows);
  std::unique_ptr<Cursor> all = base.Scan({});
  Row row;
  while (all->Next(&row)) {
    const size_t bar = row.value.find('|');
    const std::pair<std::string, std::string> whole(row.key, row.value);
    if (bar == std::string::npos) {
      absent.insert(whole);
    } else {
      const std::string rest(row.value.substr(bar + 1));
      expected.emplace(rest.substr(0, rest.find('|')), whole);
    }
  }
  std::set<std::string> distinct;
  for (const auto& [key, whole] : expected) distinct.insert(key);
  for (size_t memory : {size_t{5000}, size_t{1} << 30}) {
    SortOptions options;
    options.memory_bytes = memory;
    const auto source = JoinKeySource::Sort(&base, expression, options);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->EstimateKeys(), distinct.size());
    for (const KeyInterval& interval :
         {KeyInterval{}, KeyInterval{"2", "5"}, KeyInterval{"", "3"}, KeyInterval{"600", {}}}) {
      auto next = expected.begin();
      const std::unique_ptr<Cursor> cursor = (*source)->Scan(interval);
      while (next != expected.end() && !interval.Contains(next->first)) ++next;
      while (cursor->Next(&row)) {
        ASSERT_TRUE(next != expected.end());
        Row whole;
        ASSERT_TRUE(UnpackRow(row.value, &whole));
        EXPECT_EQ(row.key, next->first);
        EXPECT_EQ(whole.key, next->second.first);
        EXPECT_EQ(whole.value, next->second.second);
        ++next;
      }
      EXPECT_TRUE(next == expected.end() || !interval.Contains(next->first));
    }
    const std::unique_ptr<Cursor> cursor = (*source)->ScanAbsent();
    ASSERT_NE(cursor, nullptr);
    std::set<std::pair<std::string, std::string>> without;
    while (cursor->Next(&row)) {
      Row whole;
      ASSERT_TRUE(UnpackRow(row.value, &whole));
      EXPECT_EQ(row.key, "");
      without.emplace(whole.key, whole.value);
    }
    EXPECT_TRUE(without == absent);
  }
}

}  // namespace

}  // namespace rocksieve::join
