// SPDX-License-Identifier: Apache-2.0
#include "support/table.h"

#include <cmath>

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

}  // namespace
}  // namespace rocksieve
