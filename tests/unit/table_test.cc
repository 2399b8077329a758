// SPDX-License-Identifier: Apache-2.0
#include "support/table.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rocksieve {
namespace {

TEST(TableTest, SentencesHaveWhatIsInTheDocument) {
  const Json values = {{"keys", 1234567},
                       {"rate", 0.0098765},
                       {"name", "a.sst"},
                       {"unknown", nullptr},
                       {"both", {0.5, 12.0}}};
  EXPECT_EQ(Filled("{name}: {keys} keys", values), "a.sst: 1,234,567 keys");
  EXPECT_EQ(Filled("{rate:.2} {rate:3} {rate:%.1} {rate:%3}", values), "0.01 0.00988 1.0 0.988");
  EXPECT_EQ(Filled("{unknown} {unknown:%3} {absent}", values), "- - -");
  EXPECT_EQ(Filled("{/both/0:.1} to {/both/1}", values), "0.5 to 12");
}

TEST(TableTest, ColumnsPrintTheRowsOfADocument) {
  using Kind = Column::Kind;
  const Json rows = {{{"name", "a"}, {"keys", 1000}, {"at", {{"rate", 0.125}}}},
                     {{"name", "long"}, {"keys", nullptr}, {"at", {{"rate", 0.5}}}}};
  EXPECT_EQ(ForPeople({{"keys", "all\nkeys", "here", Kind::kFixed, 0},
                       {"name", "", "name", Kind::kText},
                       {"/at/rate", "rate,", "%", Kind::kPercent, 3},
                       {"", "", "row", Kind::kFixed, 0,
                        [](const Json& row) { return Filled("{name}!", row); }}},
                      rows),
            "all\n"
            "keys         rate,\n"
            "here   name      %    row\n"
            "1,000  a      12.5     a!\n"
            "-      long   50.0  long!\n");
}

TEST(TableTest, WhatIsNotKnownIsNull) {
  EXPECT_TRUE(NumberOrNull(-1).is_null());
  EXPECT_TRUE(NumberOrNull(std::nan("")).is_null());
  EXPECT_EQ(NumberOrNull(0), Json(0.0));
  EXPECT_TRUE(TextOrNull("").is_null());
  EXPECT_EQ(Document({{"name", "\xff"}}), "{\n  \"name\": \"\xEF\xBF\xBD\"\n}\n");
}

// The longest line.
size_t WidthOf(const std::string& table) {
  size_t width = 0, begin = 0;
  for (size_t end; (end = table.find('\n', begin)) != std::string::npos; begin = end + 1) {
    width = std::max(width, end - begin);
  }
  return width;
}

const std::vector<Column> kColumns = {
    {"name", "", "name", Column::Kind::kText},
    {"useful", "", "useful", Column::Kind::kFixed, 0},
    {"spared", "filter", "bytes", Column::Kind::kFixed, 0, nullptr, 2},
    {"first", "", "first", Column::Kind::kFixed, 0, nullptr, 1}};
const Json kRows = {{{"name", "a rather long name"},
                     {"useful", 1234567},
                     {"spared", 22222222},
                     {"first", 11111111}},
                    {{"name", "short"}, {"useful", 1}, {"spared", 2}, {"first", 3}}};

TEST(NarrowTables, LeaveOutWhatCanBeSparedInItsOrder) {
  const std::string whole = ForPeople(kColumns, kRows, 0);
  EXPECT_EQ(ForPeople(kColumns, kRows, WidthOf(whole)), whole);
  const std::string narrower = ForPeople(kColumns, kRows, WidthOf(whole) - 1);
  EXPECT_EQ(narrower.find("11,111,111"), std::string::npos);
  EXPECT_NE(narrower.find("22,222,222"), std::string::npos);
  EXPECT_NE(narrower.find(": first."), std::string::npos);
  const std::string narrow = ForPeople(kColumns, kRows, 29);
  EXPECT_EQ(narrow.find("22,222,222"), std::string::npos);
  EXPECT_NE(narrow.find("first, filter"), std::string::npos);
  EXPECT_LE(WidthOf(narrow), 29u);
  EXPECT_NE(narrow.find("a rather long name"), std::string::npos);
}

TEST(NarrowTables, CutTextAndNeverNumbers) {
  const std::string table = ForPeople(kColumns, kRows, 22);
  EXPECT_EQ(WidthOf(table.substr(0, table.find("Not shown"))), 22u);
  EXPECT_NE(table.find("a rather .."), std::string::npos) << table;
  for (const size_t width : {1, 5, 10, 18}) {
    const std::string least = ForPeople(kColumns, kRows, width);
    EXPECT_NE(least.find("1,234,567"), std::string::npos);
    EXPECT_NE(least.find("short"), std::string::npos);
  }
}

TEST(AlignedNumbers, HaveTheirPointsInLine) {
  const std::vector<Column> columns = {{"name", "", "name", Column::Kind::kText},
                                       {"x", "", "number", Column::Kind::kAligned, 3}};
  const Json rows = {{{"name", "a"}, {"x", 107.2}},
                     {{"name", "b"}, {"x", 34.56}},
                     {{"name", "c"}, {"x", 0.001234}},
                     {{"name", "d"}, {"x", nullptr}}};
  EXPECT_EQ(ForPeople(columns, rows, 0),
            "name     number\n"
            "a     107\n"
            "b      34.6\n"
            "c       0.00123\n"
            "d       -\n");
}

}  // namespace
}  // namespace rocksieve
