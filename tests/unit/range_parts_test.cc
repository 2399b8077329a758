// SPDX-License-Identifier: Apache-2.0
// What range filters are said to consist of, and how many empty ranges they are said to pass,
// beside those that they pass.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/budget/auto_spec.h"
#include "lib/budget/hull.h"
#include "lib/filter/range_parts.h"
#include "lib/range/builder.h"
#include "tests/support.h"

namespace rocksieve::range {

// Which parts range filters get for what is asked, and whether there should be any.

namespace {

// Numbers of 16 bytes: one of 300 entities, about 30 keys each, and one of 2^20 times.
KeyList Entities() {
  std::mt19937_64 random(3);
  std::vector<std::string> keys;
  for (int i = 0; i < 9000; i++) {
    const uint64_t entity = random() % 300 * 0x9e3779b97f4a7c15, time = random() % (1 << 20);
    keys.push_back(BigEndian(entity) + BigEndian(time));
  }
  std::sort(keys.begin(), keys.end());
  KeyList list;
  for (const std::string& key : keys) list.Add(key);
  return list;
}

QueryMix MixOf(uint64_t lookups, uint64_t ranges, size_t depth, uint64_t cells_below) {
  QueryMix mix;
  mix.lookups = lookups;
  mix.ranges[depth] = ranges;
  mix.cells_below[depth] = ranges * cells_below;
  mix.least_share = 0.5 / static_cast<double>(mix.count() + 1);
  return mix;
}

// "prefixes-8 order-16", or "keys".
std::string PartsFor(const QueryMix& mix, double bits_per_key) {
  static const KeyList keys = Entities();
  Options options;
  options.mix = mix;
  std::string text;
  double bits = 0;
  for (const PartPlan& part : PlanParts(keys, options, bits_per_key * 9000)) {
    if (!text.empty()) text += " ";
    if (part.kind == PartKind::kKeys) text += "keys";
    if (part.kind == PartKind::kPrefixes) text += "prefixes-" + std::to_string(part.depth);
    if (part.kind == PartKind::kOrder) text += "order-" + std::to_string(part.depth);
    bits += part.bits;
  }
  EXPECT_NEAR(bits, bits_per_key * 9000, 9000 * 0.2);
  return text;
}

TEST(RangePlan, FollowsWhatIsAsked) {
  EXPECT_NE(PartsFor(QueryMix(), 12).find("order-16"), std::string::npos);
  EXPECT_EQ(PartsFor(MixOf(4000, 0, 0, 0), 12), "keys");
  // Ranges of 16 times; of an entity.
  EXPECT_NE(PartsFor(MixOf(0, 4000, 15, 16), 12).find("order-16"), std::string::npos);
  EXPECT_NE(PartsFor(MixOf(2000, 2000, 15, 16), 12).find("order-16"), std::string::npos);
  EXPECT_EQ(PartsFor(MixOf(0, 4000, 8, 1), 12), "prefixes-8 order-16");
  EXPECT_EQ(PartsFor(MixOf(2000, 2000, 8, 1), 12), "prefixes-8 keys");
}

TEST(RangePlan, KeepsAnOrderForWhatWasNotHeardYet) {
  QueryMix mix = MixOf(4000, 0, 0, 0);
  mix.least_share = 0.02;
  EXPECT_EQ(PartsFor(mix, 12), "order-16");
}

TEST(RangeGain, IsThereIfRangesAreAsked) {
  AutoSpec spec;
  ASSERT_EQ(AutoSpec::Parse("rocksieve.auto:10:range", &spec), "");
  const Allocator lookups(spec.ForAllocator()), ranges(spec.ForRangeAllocator());
  const auto pay = [&](const QueryMix& mix, double bits) {
    return RangesPay(lookups.HullFor(100'000), ranges.HullFor(100'000), mix, bits);
  };
  for (const double bits : {8, 10, 12, 16}) {
    EXPECT_TRUE(pay(QueryMix(), bits)) << bits;
    EXPECT_FALSE(pay(MixOf(50'000, 0, 15, 16), bits)) << bits;
    EXPECT_TRUE(pay(MixOf(50'000, 5'000, 15, 16), bits)) << bits;
    EXPECT_TRUE(pay(MixOf(0, 5'000, 15, 16), bits)) << bits;
  }
  EXPECT_FALSE(pay(MixOf(0, 5'000, 15, 16), 0.5));  // too few bits for any
}

}  // namespace
}  // namespace rocksieve::range

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

TEST(RangeParts, OthersHaveNone) {
  const std::set<std::string> keys = RandomNumbers(100);
  const Built built("rocksieve.ribbon:10", keys);
  const RangeParts parts(built.opened.info);
  EXPECT_TRUE(parts.parts().empty());
  EXPECT_EQ(parts.PassRate(EmptyRanges(keys, 16)[0]), 1);
}

}  // namespace
}  // namespace rocksieve
