// SPDX-License-Identifier: Apache-2.0
// Range filters and what they are made of, beside sets that hold the same.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/filter/builder.h"
#include "lib/range/builder.h"
#include "lib/range/reader.h"
#include "tests/support.h"

namespace rocksieve::range {
namespace {

using Random = std::mt19937_64;

// As queries find it: nothing but the payload and what always follows it.
struct OpenedCodes {
  explicit OpenedCodes(const std::string& payload, Isa isa = ActiveIsa())
      : bytes(payload + std::string(19, '\x55')) {
    is_open = CodeSet::Parse(std::string_view(bytes).substr(0, payload.size()), &codes,
                             FirstFromFor(isa));
  }
  std::string bytes;
  CodeSet codes;
  bool is_open = false;
};

void ExpectSameAnswers(const CodeSet& codes, const std::set<uint64_t>& expected, Random* random) {
  for (int i = 0; i < 3000; i++) {
    uint64_t first = (*random)() % codes.universe();
    if (i % 3 == 0 && !expected.empty()) {
      const auto near = expected.lower_bound(first);
      first = (near == expected.end() ? *expected.begin() : *near) + (*random)() % 3;
      first = std::min(first, codes.universe() - 1);
    }
    const uint64_t length = uint64_t{1} << (*random)() % 20;
    const uint64_t last = std::min(first + (*random)() % length, codes.universe() - 1);
    const auto found = expected.lower_bound(first);
    ASSERT_EQ(codes.AnyBetween(first, last), found != expected.end() && *found <= last)
        << first << " to " << last;
  }
}

TEST(CodeSet, HasExactlyItsCodes) {
  Random random(1);
  for (const uint64_t count : {1, 2, 3, 31, 64, 65, 1000, 2560, 2561, 20000}) {
    for (const uint64_t gap : {1, 2, 3, 100, 5000, 1 << 20}) {
      const uint64_t universe = count * gap + random() % 7;
      std::set<uint64_t> expected;
      while (expected.size() < count) {
        // Some lie in clusters.
        uint64_t code = random() % universe;
        for (uint64_t run = random() % 4 == 0 ? 40 : 1; run > 0 && expected.size() < count; run--) {
          expected.insert(code++ % universe);
        }
      }
      std::string payload;
      const std::vector<uint64_t> sorted(expected.begin(), expected.end());
      if (!BuildExactCodes(sorted, universe, &payload)) continue;
      for (const Isa isa : UsableIsas()) {
        const OpenedCodes opened(payload, isa);
        ASSERT_TRUE(opened.is_open) << count << " codes, mean gap " << gap;
        EXPECT_EQ(opened.codes.codes(), count);
        ASSERT_GE(opened.codes.universe(), universe);
        ExpectSameAnswers(opened.codes, expected, &random);
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(CodeSet, OfHashedPlacesHasTheirCodesAndTheSizeItWasGiven) {
  Random random(2);
  for (const uint64_t count : {1, 40, 700, 5000, 100000}) {
    for (const double bits : {4.0, 7.3, 12.0, 19.0}) {
      std::vector<uint64_t> places(count);
      for (uint64_t& place : places) place = random();
      std::string payload;
      BuildHashedCodes(places, bits * static_cast<double>(count), &payload);
      const OpenedCodes opened(payload);
      ASSERT_TRUE(opened.is_open);
      std::set<uint64_t> expected;
      for (const uint64_t place : places) {
        expected.insert(CodeOfBlock(place, opened.codes.universe()) + place % kBlockValues);
      }
      EXPECT_EQ(opened.codes.codes(), expected.size());
      ExpectSameAnswers(opened.codes, expected, &random);
      if (count < 5000) continue;
      const double taken = 8.0 * static_cast<double>(payload.size()) / static_cast<double>(count);
      EXPECT_LE(taken, bits + 0.1);
      EXPECT_GE(taken, bits - 0.1);
      // What it takes over log2 of the mean gap: at most 1.75 bits.
      const double log2_gap = std::log2(static_cast<double>(opened.codes.universe()) /
                                        static_cast<double>(opened.codes.codes()));
      EXPECT_LE(taken - log2_gap, 1.75) << count << " codes at " << bits;
    }
  }
}

TEST(CodeSet, OfMorePlacesThanBitsCanTellApartCanBeRead) {
  Random random(7);
  std::vector<uint64_t> places(size_t{1} << 19);
  for (uint64_t& place : places) place = random();
  std::string payload;
  BuildHashedCodes(places, 64.0 * static_cast<double>(places.size()), &payload);
  EXPECT_TRUE(OpenedCodes(payload).is_open);
}

// From 2^53 on, not every universe is a double.
TEST(CodeSet, HasTheLastCodeOfAnyUniverse) {
  constexpr uint64_t kGap = uint64_t{1} << 44;
  for (const uint64_t last : {512 * kGap - 1, 512 * kGap, 512 * kGap + 1, 513 * kGap}) {
    std::vector<uint64_t> sorted;
    for (uint64_t i = 0; i < 511; i++) sorted.push_back(i * kGap);
    sorted.push_back(last);
    std::string payload;
    ASSERT_TRUE(BuildExactCodes(sorted, last + 1, &payload));
    const OpenedCodes opened(payload);
    ASSERT_TRUE(opened.is_open);
    ASSERT_GT(opened.codes.universe(), last);
    EXPECT_TRUE(opened.codes.AnyBetween(last, last));
    EXPECT_FALSE(opened.codes.AnyBetween(last - 1, last - 1));
  }
}

// Between two bursts of codes, 14,000 buckets have none.
TEST(CodeSet, LooksOverALongGapQuickly) {
  constexpr uint64_t kBurst = 500'000, kStep = 8, kFar = 100'000'000;
  std::vector<uint64_t> sorted;
  for (const uint64_t begin : {uint64_t{0}, kFar}) {
    for (uint64_t i = 0; i < kBurst; i++) sorted.push_back(begin + i * kStep);
  }
  std::string payload;
  ASSERT_TRUE(BuildExactCodes(sorted, sorted.back() + 1, &payload));
  const OpenedCodes opened(payload);
  ASSERT_TRUE(opened.is_open);
  const auto time_of = [&](uint64_t last) {  // of the processor
    const clock_t start = std::clock();
    uint64_t found = 0;
    for (uint64_t i = 1; i <= 10'000; i++) {
      const uint64_t first = kBurst * kStep + i * 1000;
      found += opened.codes.AnyBetween(first, std::max(first, last));
    }
    EXPECT_EQ(found, last == kFar ? 10'000u : 0u);
    return static_cast<double>(std::clock() - start);
  };
  // A look into each bucket would take some 5,000 times as long as into one.
  const double into_one = time_of(0);
  EXPECT_LT(time_of(kFar - 1), 500 * into_one);
  EXPECT_LT(time_of(kFar), 500 * into_one);
}

TEST(CodeSet, RefusesWhatNoBuilderWrote) {
  std::string payload;
  ASSERT_TRUE(BuildExactCodes({1, 5, 9}, 100, &payload));
  for (size_t size = 0; size < payload.size(); size++) {
    EXPECT_FALSE(OpenedCodes(payload.substr(0, size)).is_open) << size;
  }
  EXPECT_FALSE(OpenedCodes(payload + '\0').is_open);
  // Whatever the head says, it opens to something that can be asked, or not at all.
  Random random(3);
  for (int i = 0; i < 200000; i++) {
    std::string changed = payload;
    for (int changes = 1 + i % 3; changes > 0; changes--) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    const OpenedCodes opened(changed);
    if (opened.is_open) opened.codes.AnyBetween(0, opened.codes.universe() - 1);
  }
}

TEST(KeyList, KeepsKeysInOrder) {
  Random random(4);
  for (int round = 0; round < 200; round++) {
    std::set<std::string> expected;
    std::vector<std::string> keys;
    for (uint64_t i = random() % 60; i > 0; i--) {
      std::string key(random() % 12, 'a');
      for (char& c : key) c = static_cast<char>('a' + random() % 2);
      keys.push_back(key);
      expected.insert(key);
    }
    if (round % 2 == 0) std::sort(keys.begin(), keys.end());
    KeyList list;
    for (const std::string& key : keys) list.Add(key);
    list.Sort();
    std::vector<std::string> kept;
    list.ForEach([&](std::string_view key, size_t shared) {
      EXPECT_EQ(shared, kept.empty() ? 0 : CommonPrefix(kept.back(), key));
      kept.emplace_back(key);
    });
    ASSERT_TRUE(std::equal(kept.begin(), kept.end(), expected.begin(), expected.end()));
    ASSERT_EQ(list.size(), expected.size());
    for (size_t depth = 0; depth < 14; depth++) {
      std::set<std::string> prefixes;
      // Shorter keys stand for themselves: cells are filled up, but these keys have no zeros.
      for (const std::string& key : expected) prefixes.insert(key.substr(0, depth));
      EXPECT_EQ(list.DistinctAt(depth), prefixes.size()) << depth;
    }
  }
}

// Cells of keys in [begin, end) lie in the span, if it is known.
TEST(Cells, KeysOfARangeLieInItsSpan) {
  Random random(5);
  const auto random_key = [&random] {
    std::string key;
    for (uint64_t left = random() % 14; left > 0; left--) {
      key.push_back(std::string("\0\1a\xfe\xff", 5)[random() % 5]);
    }
    return key;
  };
  uint64_t known = 0;
  for (int i = 0; i < 300000; i++) {
    std::string begin = random_key(), end = random() % 2 == 0 ? random_key() : begin, key = begin;
    if (random() % 2 == 0) end += static_cast<char>(random() % 3);
    if (random() % 2 == 0) key = random_key();
    if (random() % 4 == 0) key = end.substr(0, random() % (end.size() + 1));
    if (!(begin <= key && key < end)) continue;
    for (const size_t depth : {1, 2, 7, 8, 9, 12}) {
      const CellSpan span = SpanOf(begin, end, depth);
      if (!span.known) continue;
      known++;
      ASSERT_TRUE(SameLead(begin, key, LeadBytes(depth)));
      ASSERT_LE(span.first, NumberOf(key, depth));
      ASSERT_GE(span.last, NumberOf(key, depth));
    }
  }
  EXPECT_GT(known, 10000u);
}

// Keys of several shapes, of which many are alike.
std::string RandomKey(int shape, Random* random) {
  std::string key;
  switch (shape) {
    case 0:
      return BigEndian((*random)() % 20 * 0x9e3779b97f4a7c15) + BigEndian((*random)() % 400);
    case 1:
      return "user/" + std::to_string((*random)() % 90) + "/" + std::to_string((*random)() % 100);
    case 2:
      return BigEndian((*random)() % 6000);
    case 3:
      return BigEndian((*random)());
    default:
      for (uint64_t left = (*random)() % (shape == 4 ? 6 : 30); left > 0; left--) {
        key.push_back(std::string("\0\1a\xfe\xff", 5)[(*random)() % 5]);
      }
      return key;
  }
}

FilterSpec RandomSpec(Random* random) {
  FilterSpec spec;
  spec.family = Family::kRange;
  spec.amount = 6 + static_cast<double>((*random)() % 20);
  spec.salted = (*random)() % 3 == 0;
  if ((*random)() % 2 == 0) {
    uint8_t length = 0;
    for (uint64_t at = 0; at <= (*random)() % 4; at++) {
      length = static_cast<uint8_t>(length + 1 + (*random)() % 6);
      spec.prefix_lengths[at] = length;
    }
  }
  if ((*random)() % 3 == 0) spec.order_bytes = static_cast<int>((*random)() % 20);
  return spec;
}

// A range of random or neighbouring keys, or all that begin with something.
void RandomRange(int shape, Random* random, std::string* begin, std::string* end) {
  *begin = RandomKey(shape, random);
  *end = *begin;
  switch ((*random)() % 5) {
    case 0:
      *end = RandomKey(shape, random);
      break;
    case 1:
      end->push_back(std::string("\0\1\xff", 3)[(*random)() % 3]);
      break;
    case 2:
      if (!end->empty()) end->back() = static_cast<char>(end->back() + (*random)() % 8);
      break;
    default:
      begin->resize((*random)() % (begin->size() + 1));
      *end = *begin;
      if (!end->empty()) end->back()++;
  }
}

TEST(RangeFilter, NeverRefusesARangeThatHasAKey) {
  Random random(6);
  uint64_t refused = 0;
  for (int round = 0; round < 240; round++) {
    const int shape = round % 6;
    const FilterSpec spec = RandomSpec(&random);
    const bool is_partition = random() % 3 == 0;
    BlockBuilder builder(spec);
    if (is_partition) builder.SetIsPartition();
    builder.KeepKeysForVerification();
    std::set<std::string> keys;
    for (uint64_t left = 1 + random() % (round % 4 == 0 ? 20 : 3000); left > 0; left--) {
      keys.insert(RandomKey(shape, &random));
    }
    std::vector<std::string> order(keys.begin(), keys.end());
    if (round % 3 == 0) std::shuffle(order.begin(), order.end(), random);
    for (const std::string& key : order) builder.AddKey(key);
    const FilterBlock block = builder.Finish();
    EXPECT_EQ(builder.Verify(block.view()), "") << spec.ToString();
    EXPECT_LE(block.size, MostBlockBytes(spec, keys.size())) << spec.ToString();
    const ExactCopy copy(block.view());
    const OpenedFilter opened = OpenFilter(copy.view());
    ASSERT_NE(opened.filter, nullptr);
    for (const std::string& key : keys) ASSERT_TRUE(opened.filter->MayContain(key));
    for (int i = 0; i < 1500; i++) {
      std::string begin, end;
      RandomRange(shape, &random, &begin, &end);
      if (opened.filter->MayContainRange(begin, end)) continue;
      refused++;
      const auto found = keys.lower_bound(begin);
      ASSERT_FALSE(found != keys.end() && *found < end)
          << spec.ToString() << ", shape " << shape << ", " << keys.size() << " keys";
      // Those of other partitions are not known.
      ASSERT_FALSE(is_partition && end > *keys.rbegin());
    }
  }
  EXPECT_GT(refused, 20000u);
}

// Prefixes are counted up to the greatest number there is, and not beyond.
TEST(RangeFilter, RefusesTheLastPrefixes) {
  Random random(10);
  BlockBuilder builder(Spec("rocksieve.range:32:prefixes-8"));
  std::set<std::string> keys;
  for (int i = 0; i < 10000; i++) {
    keys.insert(BigEndian((1 + random() % 1000) * 0x9e3779b97f4a7c15) + BigEndian(random()));
  }
  for (const std::string& key : keys) builder.AddKey(key);
  const FilterBlock block = builder.Finish();
  const OpenedFilter opened = OpenFilter(block.view());
  for (uint64_t cells = 1; cells <= 4; cells++) {
    const std::string begin = BigEndian(UINT64_MAX - (cells - 1)) + "a";
    EXPECT_FALSE(opened.filter->MayContainRange(begin, BigEndian(UINT64_MAX) + "b")) << cells;
  }
}

TEST(RangeFilter, OfAnUnknownOrderKnowsKeysOnly) {
  BlockBuilder builder(Spec("rocksieve.range:12"));
  builder.SetAnswersNoRanges();
  for (uint64_t i = 0; i < 1000; i++) builder.AddKey(BigEndian(i * 1000));
  const FilterBlock block = builder.Finish();
  const OpenedFilter opened = OpenFilter(block.view());
  EXPECT_TRUE(opened.filter->MayContain(BigEndian(5000)));
  EXPECT_FALSE(opened.filter->MayContain(BigEndian(5001)));
  EXPECT_TRUE(opened.filter->MayContainRange(BigEndian(5001), BigEndian(5010)));
}

TEST(RangeSpec, IsReadWrittenAndRefused) {
  for (const char* text :
       {"rocksieve.range:12", "rocksieve.range:12.5:salted:prefixes-8-24",
        "rocksieve.range:1%:order-16", "rocksieve.range:14:verified:prefixes-1-2-3-255:order-0"}) {
    EXPECT_EQ(Spec(text).ToString(), text);
  }
  EXPECT_EQ(Spec("rocksieve.range:12:order-8:prefixes-4").ToString(),
            "rocksieve.range:12:prefixes-4:order-8");
  const auto error = [](const std::string& text) {
    FilterSpec spec;
    return FilterSpec::Parse(text, &spec);
  };
  for (const char* text : {"prefixes-", "prefixes-0", "prefixes-256", "prefixes-8-8",
                           "prefixes-9-8", "prefixes-1-2-3-4-5", "prefixes-8x", "prefixes--8",
                           "prefixes", "order", "order-256", "order-1-2", "order-x"}) {
    const char* const example = text[0] == 'p' ? "example prefixes-8-24" : "example order-16";
    EXPECT_NE(error(std::string("rocksieve.range:12:") + text).find(example), std::string::npos)
        << text;
  }
  for (const auto& [text, said] :
       {std::pair("range:12:order-1:order-2", "is there twice"),
        {"ribbon:12:order-1", "is not one of the options"}, {"range:5", "6 to 32"}}) {
    EXPECT_NE(error(std::string("rocksieve.") + text).find(said), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace rocksieve::range
