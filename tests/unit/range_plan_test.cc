// SPDX-License-Identifier: Apache-2.0
// Which parts range filters get for what is asked, and whether there should be any.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/budget/auto_spec.h"
#include "lib/budget/hull.h"
#include "lib/range/builder.h"

namespace rocksieve::range {
namespace {

// Numbers of 16 bytes: one of 300 entities, about 30 keys each, and one of 2^20 times.
KeyList Entities() {
  std::mt19937_64 random(3);
  std::vector<std::string> keys;
  for (int i = 0; i < 9000; i++) {
    std::string key(16, '\0');
    uint64_t entity = random() % 300 * 0x9e3779b97f4a7c15, time = random() % (1 << 20);
    for (int at = 7; at >= 0; at--, entity >>= 8, time >>= 8) {
      key[at] = static_cast<char>(entity);
      key[8 + at] = static_cast<char>(time);
    }
    keys.push_back(key);
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
