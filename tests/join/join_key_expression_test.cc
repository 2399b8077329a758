// SPDX-License-Identifier: Apache-2.0
// What join keys are extracted, how expressions are written, and what is said about mistakes.
#include <map>

#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/join_key/json_pointer.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

using Found = std::optional<std::string>;

TEST(Decimal, EqualNumbersAreEqualText) {
  const std::map<std::string, std::vector<std::string>> kTexts = {
      {"0", {"0", "-0", "0.000e9"}},
      {"1", {"1.0", "+01", "10e-1", "1E0"}},
      {"0.5", {".5"}},
      {"5", {"5."}},
      {"-0.5", {"-0.50"}},
      {"1000", {"1e3"}},
      {"1234567.8", {"12345.678e2"}},
      {"12345678901234567890123456789012345", {"12345678901234567890123456789012345"}},
      {"100000000000000000000", {"1e20"}},
      {"1e+21", {"1e21"}},
      {"1.5e+300", {"1.50e300"}},
      {"1.5e-22", {"0.00000000000000000000015"}},
      {"0.000000000000000000001", {"0.000000000000000000001"}},
      {"1e-22", {"1e-22"}}};
  for (const auto& [canonical, texts] : kTexts) {
    for (std::string text : texts) {
      for (int round = 0; round < 2; round++) {  // what is found is read as itself
        std::string found;
        EXPECT_TRUE(CanonicalDecimal(text, &found)) << text;
        EXPECT_EQ(found, canonical);
        text = found;
      }
    }
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

struct PointerCase {
  const char* pointer;
  std::string json;
  Found expected;
};

void ExpectFound(const std::vector<PointerCase>& cases) {
  for (const auto& [pointer, json, expected] : cases) {
    EXPECT_EQ(FindJson(pointer, json), expected) << pointer << " in " << json;
  }
}

// On any documents, the fuzzer of tests/fuzz compares it with another parser.
TEST(JsonPointer, FindsScalars) {
  const std::string json = R"({"id": 7, "customer": {"id": "c\u00e4\n", "tags": ["x", {"y": true}]},
      "none": null, "big": 12345678901234567890123, "half": 0.50, "a/b": {"m~n": false}, "": -0})";
  ExpectFound({{"/id", json, "7"},
               {"/customer/id", json, "c\xc3\xa4\n"},
               {"/customer/tags/0", json, "x"},
               {"/customer/tags/1/y", json, "true"},
               {"/customer/tags/2", json, {}},
               {"/customer/tags/00", json, {}},
               {"/customer/tags/-", json, {}},
               {"/customer", json, {}},
               {"/none", json, {}},
               {"/big", json, "12345678901234567890123"},
               {"/half", json, "0.5"},
               {"/a~1b/m~0n", json, "false"},
               {"/", json, "0"},
               {"/id/id", json, {}},
               {"", "17", "17"},
               {"", json, {}},
               // Of equal names the last one counts.
               {"/a", R"({"a":1,"a":2})", "2"},
               {"/a", R"({"a":1,"a":null})", {}},
               {"/a/b", R"({"a":{"b":1},"a":{"c":2}})", {}},
               {"/a/b", R"({"a":{"b":1},"a":7})", {}},
               {"/a/b", R"({"a":7,"a":{"b":1}})", "1"}});
}

TEST(JsonPointer, WhatIsNotJsonHasNothing) {
  for (const char* json : {"", "{", "{\"a\":1", "{\"a\":1}x", "a", "{\"a\":\"\xff\"}", "[1,]"}) {
    EXPECT_EQ(FindJson("/a", json), std::nullopt) << json;
  }
  // A parser may take a zero byte for the end.
  for (const std::string json : {"{\"a\":1}", "{\"a\":1e999}"}) {
    EXPECT_EQ(FindJson("/a", json + '\0' + json), std::nullopt) << json;
  }
  EXPECT_EQ(FindJson("/a", std::string(200000, '[')), std::nullopt);
}

TEST(JsonPointer, NumbersBeyondDoublesAreNumbers) {
  const std::string digits = "7" + std::string(398, '3') + "1";
  const std::string json =
      R"({"a": 1e400, "b\\": "x1e400\"2", "c": -0, "d": [-1.50E+999, 2, {"e": )" + digits +
      R"(}], "1e401": true, "f": 0.5e1, "g": 12345678901234567890,)" +
      R"("h": 1e-400, "a": 20e399, "none": null})";
  ExpectFound({{"/a", json, "2e+400"},
               {"/b\\", json, "x1e400\"2"},
               {"/c", json, "0"},
               {"/d/0", json, "-1.5e+999"},
               {"/d/1", json, "2"},
               {"/d/2/e", json, digits},
               {"/1e401", json, "true"},
               {"/f", json, "5"},
               {"/g", json, "12345678901234567890"},
               {"/h", json, "1e-400"},
               {"/none", json, {}},
               {"/d", json, {}},
               {"", "1e400", "1e+400"},
               {"", " -" + digits + " ", "-" + digits}});
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

Found Extract(const std::string& text, const Row& row) {
  const absl::StatusOr<JoinKeyExpression> expression = JoinKeyExpression::Parse(text);
  EXPECT_TRUE(expression.ok()) << expression.status();
  std::string found;
  if (!expression.ok() || !expression->Extract(row, &found)) return std::nullopt;
  return found;
}

TEST(JoinKeyExpression, TakesPartsOfKeyAndValue) {
  const struct {
    const char* text;
    Found expected;
  } kOfOneRow[] = {{"key", "user:0042|x"},        {"value", "a|bc||d"},
                   {"key.bytes(5,4)", "0042"},    {"key.bytes(0)", "user:0042|x"},
                   {"key.bytes(11)", ""},         {"key.bytes(12)", {}},
                   {"key.bytes(9,3)", {}},        {"key.bytes(-1)", "x"},
                   {"key.bytes(-6,4)", "0042"},   {"key.bytes(-12,1)", {}},
                   {"value.field(|,1)", "a"},     {"value.field(|,3)", ""},
                   {"value.field(|,4)", "d"},     {"value.field(|,5)", {}},
                   {"value.field(||,2)", "d"},    {"key.field(:,2).field(|,1).number()", "42"},
                   {"value.field(\\x7c,2)", "bc"}};
  for (const auto& [text, expected] : kOfOneRow) {
    EXPECT_EQ(Extract(text, {"user:0042|x", "a|bc||d"}), expected) << text;
  }
  EXPECT_EQ(Extract("value.field(|,9)", {"", ""}), std::nullopt);
  EXPECT_EQ(Extract("value.field(\\,,2)", {"", "a,b"}), "b");
  EXPECT_EQ(Extract("value.field(\\t,2)", {"", "a\tb"}), "b");
  // Binary numbers as decimal text.
  const std::string bytes("\0\0\1\2", 4);
  EXPECT_EQ(Extract("key.uint_be()", {bytes, ""}), "258");
  EXPECT_EQ(Extract("key.uint_le()", {bytes, ""}), "33619968");
  EXPECT_EQ(Extract("key.uint_be()", {std::string(8, '\xff'), ""}), "18446744073709551615");
  EXPECT_EQ(Extract("key.uint_be()", {std::string(9, '\0'), ""}), std::nullopt);
  EXPECT_EQ(Extract("key.uint_be()", {"", ""}), std::nullopt);
}

TEST(JoinKeyExpression, HasACanonicalForm) {
  const std::map<std::string, std::vector<std::string>> kTexts = {
      {"key", {"key"}},
      {"value", {"value"}},
      {"key.bytes(2,8)", {"key.bytes(2,8)"}},
      {"key.bytes(7)", {"key.bytes(007)", "key.bytes(7)"}},
      {"value.field(|,3)", {"value.field(\\x7c,03)", "value.field(|,3)"}},
      {"value.field(\\t,1)", {"value.field(\t,1)", "value.field(\\t,1)"}},
      {"value.field(\\,,1)", {"value.field(\\,,1)"}},
      {"value.field(\\xc3\\xa4,1)", {"value.field(\xc3\xa4,1)", "value.field(\\xc3\\xa4,1)"}},
      {"value.json(/a\\,b)", {"value.json(/a\\,b)"}},
      {"value.json()", {"value.json()"}},
      {"key.bytes(0,8).uint_be()", {"key.bytes(0,8).uint_be()"}}};
  for (const auto& [canonical, texts] : kTexts) {
    for (const std::string& text : texts) {
      const absl::StatusOr<JoinKeyExpression> parsed = JoinKeyExpression::Parse(text);
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(parsed->text(), canonical);
      EXPECT_EQ(parsed->is_whole_key(), text == "key");
    }
  }
}

TEST(JoinKeyExpression, SaysWhatIsWrong) {
  const std::map<const char*, std::vector<std::string>> kFaults = {
      {"It is key or value", {"", "kye", "keys", "key ", "key.", "key.bytes"}},
      {"written key.bytes(OFFSET,LENGTH)", {"key[2:8]"}},
      {"closing parenthesis is missing", {"key.bytes(2,8"}},
      {"takes an offset",
       {"key.bytes()", "key.bytes(1,0)", "key.bytes(1,2,3)", "key.bytes(1x)",
        "key.bytes(99999999999999999999)"}},
      {"takes a delimiter", {"value.field(|)", "value.field(,,2)"}},
      {"counted from 1", {"value.field(|,0)"}},
      {"begins with a slash", {"value.json(a)"}},
      {"tilde is written ~0", {"value.json(/a~2)"}},
      {"jsno is not known; there are bytes", {"value.jsno(/a)"}},
      {"takes nothing", {"value.number(1)"}},
      {"after a backslash", {"value.field(\\q,1)", "value.field(\\x7,1)"}},
      {"no function @customer is registered", {"@customer"}}};
  for (const auto& [says, texts] : kFaults) {
    for (const std::string& text : texts) {
      const absl::Status status = JoinKeyExpression::Parse(text).status();
      for (const std::string& part : {std::string(says), text}) {
        EXPECT_NE(status.message().find(part), absl::string_view::npos) << text << ": " << status;
      }
    }
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
  for (size_t bytes : {1, 3, 6}) {
    const JoinKeyExpression expression =
        *JoinKeyExpression::Parse("key.bytes(0," + std::to_string(bytes) + ")");
    ASSERT_EQ(expression.key_prefix_bytes(), bytes);
    const auto sorted = JoinKeySource::Sort(&base, expression);
    ASSERT_TRUE(sorted.ok());
    KeyPrefixSource prefixes(std::make_unique<MemorySource>(rows), bytes);
    EXPECT_EQ(ReadRows(prefixes.ScanAbsent().get()), ReadRows((*sorted)->ScanAbsent().get()));
    for (int i = 0; i < 200; i++) {
      KeyInterval interval{i == 0 ? "" : random_key(), std::nullopt};
      if (i % 3 != 0) interval.end = random_key();
      ASSERT_EQ(ReadRows(&prefixes, interval), ReadRows(sorted->get(), interval));
    }
  }
  for (const char* text : {"key", "key.bytes(1,3)", "key.bytes(0)", "value.bytes(0,3)",
                           "key.bytes(0,3).number()", "key.bytes(-3,3)"}) {
    EXPECT_EQ(JoinKeyExpression::Parse(text)->key_prefix_bytes(), 0u) << text;
  }
}

TEST(JoinKeySource, SortsByTheJoinKeyAndKeepsTheRest) {
  std::mt19937_64 random(9);
  Table rows;
  for (int i = 0; i < 5000; i++) {
    rows.emplace_back(
        "k" + std::to_string(i),
        random() % 4 == 0 ? "none" : "x|" + std::to_string(random() % 700) + (i % 2 ? "|t" : ""));
  }
  MemorySource base(rows);
  const JoinKeyExpression expression = *JoinKeyExpression::Parse("value.field(|,2)");
  Table present, absent;  // by the join key, rows in their order
  for (const auto& [key, value] : ReadRows(&base)) {
    const size_t bar = value.find('|');
    if (bar == std::string::npos) {
      absent.emplace_back("", key + "=" + value);
    } else {
      present.emplace_back(value.substr(bar + 1, value.find('|', bar + 1) - bar - 1),
                           key + "=" + value);
    }
  }
  const auto unpacked = [](Table packed) {
    for (auto& [key, value] : packed) {
      Row whole;
      EXPECT_TRUE(UnpackRow(value, &whole));
      value = std::string(whole.key) + "=" + std::string(whole.value);
    }
    return packed;
  };
  MemorySource expected(present);
  for (size_t memory : {size_t{5000}, size_t{1} << 30}) {
    SortOptions options;
    options.memory_bytes = memory;
    const auto source = JoinKeySource::Sort(&base, expression, options);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->EstimateKeys(), KeysOf(present).size());
    for (const KeyInterval& interval :
         {KeyInterval{}, KeyInterval{"2", "5"}, KeyInterval{"", "3"}, KeyInterval{"600", {}}}) {
      EXPECT_EQ(unpacked(ReadRows(source->get(), interval)), ReadRows(&expected, interval));
    }
    EXPECT_EQ(unpacked(ReadRows((*source)->ScanAbsent().get())), absent);
  }
}

}  // namespace
}  // namespace rocksieve::join
