// SPDX-License-Identifier: Apache-2.0
// The filters of the experiment "any_prefix", and what they are made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "experiments/any_prefix/bit_ribbon.h"
#include "experiments/any_prefix/bit_vector.h"
#include "experiments/any_prefix/prefix_filter.h"
#include "experiments/any_prefix/range_coder.h"

namespace rocksieve::experiments {
namespace {

constexpr PrefixCandidate kAll[] = {
    {"range family", true, BuildRangeFamily},
    {"every prefix", false, BuildEveryPrefix},
    {"weighted", false, BuildWeightedPrefixes},
    {"Patricia", false, BuildPatriciaTrie},
    {"weak prefix search", false, BuildWeakPrefixSearch},
    {"ordered code", true, BuildOrderedCode},
    {"coded list", true, BuildCodedList},
};

// Few different bytes, 0 and 255 among them, so that keys begin with other keys.
std::string RandomText(std::mt19937_64* random, size_t most) {
  static const std::string kBytes("\0\1ab\xfe\xff", 6);
  std::string text;
  for (size_t left = 1 + (*random)() % most; left > 0; left--) {
    text.push_back(kBytes[(*random)() % kBytes.size()]);
  }
  return text;
}

SortedKeys RandomKeys(std::mt19937_64* random, size_t count, size_t most_bytes) {
  std::set<std::string> keys;
  for (size_t i = 0; i < count; i++) keys.insert(RandomText(random, most_bytes));
  return {keys.begin(), keys.end()};
}

bool Holds(const SortedKeys& keys, const std::string& begin, const std::string& end) {
  const auto next = std::lower_bound(keys.begin(), keys.end(), begin);
  return next != keys.end() && *next < end;
}

TEST(PrefixFilters, LoseNoPrefixAndNoRange) {
  std::mt19937_64 random(1);
  for (const size_t count : {1, 2, 33, 1000}) {
    for (const size_t most_bytes : {2, 9, 60}) {
      const SortedKeys keys = RandomKeys(&random, count, most_bytes);
      for (const double bits : {6.0, 14.0, 32.0}) {
        for (const PrefixCandidate& candidate : kAll) {
          const auto filter = candidate.build(keys, bits);
          for (const std::string& key : keys) {
            for (size_t length = 1; length <= key.size(); length++) {
              ASSERT_TRUE(filter->MayHavePrefix(std::string_view(key).substr(0, length)))
                  << candidate.name << ", " << count << " keys, " << bits << " bits";
            }
          }
          for (int i = 0; i < 300; i++) {
            const std::string begin = RandomText(&random, 6), end = RandomText(&random, 6);
            if (begin >= end || !Holds(keys, begin, end)) continue;
            ASSERT_TRUE(filter->MayHaveRange(begin, end))
                << candidate.name << ", " << count << " keys, " << bits << " bits";
          }
        }
      }
    }
  }
}

// With bits enough, the coded list has the keys themselves.
TEST(PrefixFilters, TheCodedListIsExactWhereNothingIsCut) {
  std::mt19937_64 random(2);
  const SortedKeys keys = RandomKeys(&random, 2000, 12);
  const auto list = BuildCodedList(keys, 200);
  int absent = 0;
  for (int i = 0; i < 20'000; i++) {
    const std::string begin = RandomText(&random, 9), end = RandomText(&random, 9);
    const std::string after = EndOfPrefix(begin);
    if (!after.empty()) {
      ASSERT_EQ(Holds(keys, begin, after), list->MayHavePrefix(begin));
      absent += !Holds(keys, begin, after);
    }
    if (begin < end) {
      ASSERT_EQ(Holds(keys, begin, end), list->MayHaveRange(begin, end));
    }
  }
  EXPECT_GT(absent, 1000);
}

TEST(BitRibbon, HasTheValuesAndPassesOthersAtTheirRate) {
  std::mt19937_64 random(3);
  std::vector<BitRibbon::Entry> entries;
  for (uint32_t i = 0; i < 20'000; i++) {
    entries.push_back({random(), i % 12, static_cast<uint32_t>(random()) & ((1U << i % 12) - 1)});
  }
  BitRibbon values;
  const auto lost = values.Build(entries, 0.1);
  EXPECT_LT(lost.size(), 200U);
  size_t wrong = 0;
  for (const auto& entry : entries) wrong += values.Get(entry.hash, entry.bits) != entry.value;
  EXPECT_EQ(lost.size(), wrong);

  for (auto& entry : entries) entry.value = 0;
  BitRibbon filter;
  EXPECT_TRUE(filter.Build(entries).empty());
  for (const auto& entry : entries) ASSERT_TRUE(filter.AreZero(entry.hash, entry.bits));
  int passed = 0;
  for (int i = 0; i < 64'000; i++) passed += filter.AreZero(random(), 6);
  EXPECT_NEAR(1000, passed, 250);
}

TEST(EliasFano, FindsWhatLiesBetween) {
  std::mt19937_64 random(4);
  for (const uint64_t universe : {1'000, 100'000, 1'000'000'000}) {
    std::set<uint64_t> numbers;
    for (int i = 0; i < 700; i++) numbers.insert(random() % universe);
    const EliasFano set({numbers.begin(), numbers.end()}, universe);
    for (int i = 0; i < 20'000; i++) {
      const uint64_t first = random() % universe;
      const uint64_t last = std::min(universe - 1, first + random() % (1 + universe / 500));
      const auto next = numbers.lower_bound(first);
      ASSERT_EQ(next != numbers.end() && *next <= last, set.AnyBetween(first, last));
    }
  }
}

TEST(RangeCoder, DecodesWhatWasEncodedWhateverFollows) {
  std::mt19937_64 random(5);
  const Distribution distribution({{0, 1}, {1, 7}, {2, 900}, {256, 3}});
  for (int round = 0; round < 2000; round++) {
    std::vector<Symbol> symbols;
    RangeEncoder encoder;
    for (size_t left = random() % 60; left > 0; left--) {
      symbols.push_back(std::array<Symbol, 4>{0, 1, 2, 256}[random() % 4]);
      encoder.Put(distribution.PartOf(symbols.back()));
    }
    const std::string bytes = encoder.Finish() + std::string(4, static_cast<char>(random()));
    RangeDecoder decoder(reinterpret_cast<const uint8_t*>(bytes.data()));
    for (const Symbol symbol : symbols) {
      Distribution::Part part;
      ASSERT_EQ(symbol, decoder.Get(distribution, &part));
    }
  }
}

}  // namespace
}  // namespace rocksieve::experiments
