// SPDX-License-Identifier: Apache-2.0
// What join keys are extracted, how expressions are written, and what is said about mistakes.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/rows/key_list.h"
#include "tests/join/memory_source.h"

namespace rocksieve::join {
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
