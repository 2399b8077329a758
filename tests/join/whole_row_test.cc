// SPDX-License-Identifier: Apache-2.0
// Join keys of whole rows: their order, which of them match, and what a scan of some of them reads.
#include "lib/join/join_key/join_key_source.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/hash/key_hash.h"
#include "lib/join/join_key/join_key_expression.h"
#include "tests/join/memory_source.h"

namespace rocksieve::join {
namespace {

using Random = std::mt19937_64;

std::string JoinKey(std::string_view key, std::string_view value) {
  std::string join_key;
  WholeRowJoinKey({key, value}, &join_key);
  return join_key;
}

// Of few different bytes, so that keys are beginnings of others, and have zeros.
std::string RandomBytes(Random* random) {
  constexpr std::string_view kBytes("\x00\x01\x02\xFE\xFF\x61", 6);
  std::string bytes;
  for (uint64_t n = (*random)() % 5; n > 0; n--) {
    bytes.push_back(kBytes[(*random)() % kBytes.size()]);
  }
  return bytes;
}

TEST(WholeRow, JoinKeysComeInTheOrderOfKeysAndAreEqualForEqualRowsOnly) {
  Random random(1);
  for (int i = 0; i < 100000; i++) {
    const std::string a = RandomBytes(&random), b = RandomBytes(&random);
    const std::string value = RandomBytes(&random), other = RandomBytes(&random);
    if (a != b) {
      ASSERT_EQ(JoinKey(a, value) < JoinKey(b, other), a < b);
    }
    ASSERT_EQ(JoinKey(a, value) == JoinKey(a, other), value == other);
  }
}

TEST(WholeRow, GoldenBytes) {
  // XXH3-64 of nothing, as its specification has it.
  EXPECT_EQ(JoinKey(std::string("a\0b", 3), ""),
            std::string("a\0\xFF"
                        "b\0\x01\x2D\x06\x80\x05\x38\xD3\x94\xC2",
                        14));
}

TEST(WholeRow, AScanGivesWhatLiesInTheInterval) {
  Random random(2);
  std::map<std::string, std::string> rows;
  for (int i = 0; i < 300; i++) rows[RandomBytes(&random)] = RandomBytes(&random);
  WholeRowSource source(
      std::make_unique<MemorySource>(MemorySource::Rows(rows.begin(), rows.end())),
      WholeRowSource::Values::kGiven);
  std::vector<std::string> ends;
  for (const auto& [key, value] : rows) {
    // Any beginning of a join key, and more.
    const std::string join_key = JoinKey(key, value);
    ends.push_back(join_key.substr(0, random() % (join_key.size() + 1)) + RandomBytes(&random));
    ends.push_back(join_key);
  }
  for (int i = 0; i < 5000; i++) {
    KeyInterval interval{ends[random() % ends.size()], ends[random() % ends.size()]};
    if (*interval.end < interval.begin) std::swap(*interval.end, interval.begin);
    if (i % 7 == 0) interval.end.reset();
    std::vector<std::string> expected, found;
    for (const auto& [key, value] : rows) {
      if (interval.Contains(JoinKey(key, value))) expected.push_back(key);
    }
    const std::unique_ptr<Cursor> cursor = source.Scan(interval);
    Row row;
    std::string key;
    while (cursor->Next(&row)) {
      ASSERT_TRUE(KeyOfWholeRow(row.key, &key));
      ASSERT_EQ(row.key, JoinKey(key, row.value));
      ASSERT_EQ(rows.at(key), row.value);
      found.push_back(key);
    }
    ASSERT_EQ(found, expected);
  }
}

TEST(WholeRow, RowsOfAKeyAreThoseWithAnyValue) {
  Random random(3);
  for (int i = 0; i < 20000; i++) {
    const std::string key = RandomBytes(&random), other = RandomBytes(&random);
    const KeyInterval rows = WholeRowsOfKey(key);
    ASSERT_TRUE(rows.Contains(JoinKey(key, RandomBytes(&random))));
    ASSERT_EQ(rows.Contains(JoinKey(other, RandomBytes(&random))), key == other);
  }
}

TEST(WholeRow, RowsOfKeysAreThoseWithAnyValue) {
  Random random(4);
  for (int i = 0; i < 50000; i++) {
    KeyInterval keys{RandomBytes(&random), std::nullopt};
    if (i % 7 != 0) keys.end = keys.begin + RandomBytes(&random);
    if (i % 7 == 1) keys.end = keys.begin + '\0';
    const std::string key = RandomBytes(&random);
    ASSERT_EQ(WholeRowsOfKeys(keys).Contains(JoinKey(key, RandomBytes(&random))),
              keys.Contains(key));
  }
  const KeyInterval one = WholeRowsOfKeys({"k", std::string("k\0", 2)}), same = WholeRowsOfKey("k");
  EXPECT_EQ(one.begin, same.begin);
  EXPECT_EQ(one.end, same.end);
}

TEST(WholeRow, JoinKeysOfOthersAreRefused) {
  const std::string join_key = JoinKey(std::string("a\0", 2), "v");
  std::string key;
  ASSERT_TRUE(KeyOfWholeRow(join_key, &key));
  EXPECT_EQ(key, std::string("a\0", 2));
  for (size_t bytes = 0; bytes < join_key.size(); bytes++) {
    EXPECT_FALSE(KeyOfWholeRow(join_key.substr(0, bytes), &key));
  }
  const std::string digest(8, 'd');
  for (const std::string& wrong : {std::string("a\0\x02", 3), std::string("a\0\x05z\0\x01", 6),
                                   std::string("a\0\x01\0\x01", 5), std::string("a")}) {
    EXPECT_FALSE(KeyOfWholeRow(wrong + digest, &key)) << wrong;
  }
}

TEST(WholeRow, JoinKeysPartIntoKeyAndDigest) {
  std::string one, other, longer;
  WholeRowJoinKey({std::string_view("a\0b", 3), "1"}, &one);
  WholeRowJoinKey({std::string_view("a\0b", 3), "2"}, &other);
  WholeRowJoinKey({std::string_view("a\0b\0", 4), "1"}, &longer);
  std::string_view key = one, same = other, next = longer;
  uint64_t digest = 0, another = 0, first = 0;
  ASSERT_TRUE(TakeDigest(&key, &digest) && TakeDigest(&same, &another) &&
              TakeDigest(&next, &first));
  EXPECT_EQ(key, same);
  EXPECT_NE(digest, another);
  EXPECT_EQ(digest, first);
  EXPECT_EQ(digest, XXH3_64bits("1", 1));
  EXPECT_LT(key, next);  // as their keys
  EXPECT_EQ(std::string(key) + std::string(DigestBytesOf(one)), one);
  std::string_view none = std::string_view(one).substr(one.size() - kWholeRowDigestBytes - 1);
  EXPECT_FALSE(TakeDigest(&none, &digest));
  std::string_view no_end = "0123456789abcdef";
  EXPECT_FALSE(TakeDigest(&no_end, &digest));
}

TEST(WholeRow, ValuesCanBeLeftOut) {
  WholeRowSource source(std::make_unique<MemorySource>(MemorySource::Rows{{"k", "v"}}),
                        WholeRowSource::Values::kLeftOut);
  const std::unique_ptr<Cursor> cursor = source.Scan({});
  Row row;
  ASSERT_TRUE(cursor->Next(&row));
  EXPECT_EQ(row.key, JoinKey("k", "v"));
  EXPECT_EQ(row.value, "");
}

TEST(WholeRow, IsAnExpression) {
  for (const char* text : {"row", "row.without_value()"}) {
    const absl::StatusOr<JoinKeyExpression> expression = JoinKeyExpression::Parse(text);
    ASSERT_TRUE(expression.ok());
    EXPECT_EQ(expression->text(), text);
    EXPECT_TRUE(expression->is_whole_row());
    EXPECT_EQ(expression->gives_values(), std::string_view(text) == "row");
    std::string join_key;
    EXPECT_TRUE(expression->Extract({"k", "v"}, &join_key));
    EXPECT_EQ(join_key, JoinKey("k", "v"));
  }
  EXPECT_FALSE(JoinKeyExpression::Parse("row.bytes(1)").ok());
  EXPECT_FALSE(JoinKeyExpression::Parse("key")->is_whole_row());
}

}  // namespace
}  // namespace rocksieve::join
