// SPDX-License-Identifier: Apache-2.0
// What range filters are said to consist of, and how many empty ranges they are said to pass,
// beside those that they pass.
#include "lib/filter/range_parts.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support.h"

namespace rocksieve {
namespace {

using Random = std::mt19937_64;

struct Built {
  Built(const std::string& spec, const std::set<std::string>& keys) {
    FilterBuilder builder(Spec(spec));
    for (const std::string& key : keys) builder.AddKey(key);
    block = builder.Finish();
    opened = OpenFilter(block.view());
  }
  FilterBlock block;
  OpenedFilter opened;
};

// Of ranges in the gaps between keys, so many consecutive numbers long.
std::vector<EmptyRange> EmptyRanges(const std::set<std::string>& keys, uint64_t length) {
  std::vector<EmptyRange> ranges;
  for (auto key = keys.begin(); std::next(key) != keys.end(); ++key) {
    const std::string lead = key->substr(0, key->size() - 8);
    uint64_t number = 0;
    for (const char c : key->substr(lead.size())) number = number << 8 | static_cast<uint8_t>(c);
    EmptyRange range;
    range.before = *key;
    range.after = *std::next(key);
    range.begin = lead + BigEndian(number + 1);
    range.end = lead + BigEndian(number + 1 + length);
    if (range.begin < range.end && range.end <= range.after) ranges.push_back(range);
  }
  return ranges;
}

struct Rates {
  double predicted = 0, observed = 0, ranges = 0;
};

Rates RatesOf(const Built& built, const std::vector<EmptyRange>& ranges) {
  const RangeParts parts(built.opened.info);
  Rates rates;
  rates.ranges = static_cast<double>(ranges.size());
  for (const EmptyRange& range : ranges) {
    rates.predicted += parts.PassRate(range) / rates.ranges;
    if (built.opened.filter->MayContainRange(range.begin, range.end)) {
      rates.observed += 1 / rates.ranges;
    }
  }
  return rates;
}

void ExpectAsPredicted(const Rates& rates) {
  ASSERT_GT(rates.ranges, 1000);
  EXPECT_NEAR(rates.observed, rates.predicted,
              5 * std::sqrt(rates.predicted / rates.ranges) + 0.05 * rates.predicted);
}

std::set<std::string> RandomNumbers(uint64_t count) {
  Random random(1);
  std::set<std::string> keys;
  while (keys.size() < count) keys.insert(BigEndian(random()));
  return keys;
}

// Of few entities, each with many times.
std::set<std::string> Events(uint64_t count) {
  Random random(2);
  std::set<std::string> keys;
  while (keys.size() < count) {
    keys.insert(BigEndian(random() % 1000 * 7) + BigEndian(random() % (1 << 24)));
  }
  return keys;
}

TEST(RangeParts, OrderPassesAsManyRangesAsItsCodesSay) {
  const std::set<std::string> keys = RandomNumbers(50000);
  for (const char* spec : {"rocksieve.range:10", "rocksieve.range:14"}) {
    const Built built(spec, keys);
    for (const uint64_t length : {1, 16, 256, 1500}) {
      SCOPED_TRACE(spec + std::string(", length ") + std::to_string(length));
      ExpectAsPredicted(RatesOf(built, EmptyRanges(keys, length)));
    }
    EXPECT_NEAR(RatesOf(built, EmptyRanges(keys, 1 << 16)).predicted, 1, 1e-9);
  }
}

TEST(RangeParts, ExactOrderPassesNone) {
  std::set<std::string> keys;
  for (uint64_t i = 0; i < 20000; i++) keys.insert(BigEndian(1000000 + 40 * i));
  const Built built("rocksieve.range:14", keys);
  const RangeParts parts(built.opened.info);
  const auto is_exact = [](const RangePart& part) { return part.is_exact; };
  EXPECT_TRUE(std::any_of(parts.parts().begin(), parts.parts().end(), is_exact));
  const Rates rates = RatesOf(built, EmptyRanges(keys, 16));
  EXPECT_EQ(rates.predicted, 0);
  EXPECT_EQ(rates.observed, 0);
}

TEST(RangeParts, AbsentPrefixesPassAtTheRateOfTheirPart) {
  const std::set<std::string> keys = Events(50000);
  const Built built("rocksieve.range:12:prefixes-8", keys);
  const RangeParts parts(built.opened.info);
  ASSERT_EQ(parts.parts().size(), 2u);
  EXPECT_EQ(parts.parts()[0].kind, "prefixes");
  EXPECT_EQ(parts.parts()[0].depth, 8u);
  EXPECT_EQ(parts.parts()[0].entries, 1000u);
  EXPECT_EQ(parts.parts()[1].kind, "order");
  EXPECT_EQ(parts.parts()[1].depth, 16u);
  EXPECT_NEAR(static_cast<double>(parts.parts()[0].bytes + parts.parts()[1].bytes),
              static_cast<double>(built.block.size), 150);
  std::vector<EmptyRange> ranges;
  for (uint64_t i = 0; i < 999; i++) {
    for (uint64_t absent = 1; absent < 7; absent++) {
      ranges.push_back({BigEndian(7 * i + absent), BigEndian(7 * i + absent + 1),
                        BigEndian(7 * i) + BigEndian(5), BigEndian(7 * i + 7) + BigEndian(5)});
    }
  }
  ExpectAsPredicted(RatesOf(built, ranges));
  // Of ranges next to keys, prefixes say nothing.
  ExpectAsPredicted(RatesOf(built, EmptyRanges(keys, 16)));
}

// What lies in one cell with a key is passed.
TEST(RangeParts, CellsWithKeysAreNoSecret) {
  const std::set<std::string> keys = Events(20000);
  const Built built("rocksieve.range:20:order-14", keys);
  const std::vector<EmptyRange> ranges = EmptyRanges(keys, 16);
  const Rates rates = RatesOf(built, ranges);
  EXPECT_GT(rates.predicted, 0.99);
  EXPECT_NEAR(rates.observed, rates.predicted, 0.001);
}

TEST(RangeParts, OthersHaveNone) {
  const std::set<std::string> keys = RandomNumbers(100);
  const Built built("rocksieve.ribbon:10", keys);
  const RangeParts parts(built.opened.info);
  EXPECT_TRUE(parts.parts().empty());
  EXPECT_EQ(parts.PassRate(EmptyRanges(keys, 16)[0]), 1);
}

}  // namespace
}  // namespace rocksieve
