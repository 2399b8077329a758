// SPDX-License-Identifier: Apache-2.0
// The cuckoo family: placing keys into a shard, and its mathematics.
#include <cmath>
#include <random>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "lib/cuckoo/builder.h"
#include "lib/cuckoo/layout.h"
#include "lib/cuckoo/plan.h"
#include "lib/cuckoo/reader.h"

namespace rocksieve::cuckoo {
namespace {

// Placing keys into a shard, and what happens when that cannot be done.

// Every key exactly once, in one of its four slots.
void ExpectProperPlacement(const std::vector<uint64_t>& hashes, uint32_t slots,
                           const Placement& placement) {
  std::unordered_set<uint32_t> placed;
  for (uint32_t slot = 0; slot < slots; slot++) {
    const uint32_t key = placement.KeyInSlot(slot);
    if (key == Placement::kEmpty) continue;
    EXPECT_TRUE(placed.insert(key).second) << "key " << key << " twice";
    const KeyBits bits = KeyBitsOf(hashes[key]);
    const uint32_t first = WindowAt(bits.first_position, slots);
    const uint32_t second = WindowAt(bits.second_position, slots);
    EXPECT_TRUE(slot - first < 2 || slot - second < 2) << "key " << key << " in slot " << slot;
  }
  EXPECT_EQ(placed.size(), hashes.size());
}

TEST(CuckooPlacement, PutsEveryKeyIntoOneOfItsSlots) {
  std::mt19937_64 random(41);
  for (uint32_t keys : {1, 2, 3, 10, 100, 4096, 14000, 16000, 20000}) {
    int failures = 0;
    for (int round = 0; round < 20; round++) {
      std::vector<uint64_t> hashes(keys);
      for (uint64_t& hash : hashes) hash = random();
      Placement placement;
      const uint32_t slots = keys + keys / 10 + 3;  // load 0.91 and less
      if (placement.Place(hashes, slots)) {
        ExpectProperPlacement(hashes, slots, placement);
      } else {
        failures++;
      }
    }
    EXPECT_LE(failures, 4) << keys << " keys";
  }
}

TEST(CuckooPlacement, GivesUpOnWhatCannotBePlaced) {
  // Five keys with the same four slots, however many slots there are.
  const std::vector<uint64_t> same(5, 0x123456789ABCDEF);
  Placement placement;
  EXPECT_FALSE(placement.Place(same, 100));
  // More keys than slots.
  std::mt19937_64 random(42);
  std::vector<uint64_t> many(200);
  for (uint64_t& hash : many) hash = random();
  EXPECT_FALSE(placement.Place(many, 199));
}

// Finds hashes that share both windows up to ten thousand slots: the last resort must catch them.
std::vector<uint64_t> UnplaceableHashes(size_t count) {
  // The windows depend on the upper halves of two products. Differences of hashes that change only
  // the lowest bits of the first product, and happen to leave the second nearly alone, do it.
  std::vector<uint64_t> hashes;
  constexpr uint64_t kInverse = 0x02AB9C720D1024ADULL;
  const uint64_t start = uint64_t{0x5555555555555555};
  EXPECT_EQ(0x9FB21C651E98DF25ULL * kInverse, 1u);
  for (uint64_t low = 0; hashes.size() < count; low++) {
    const uint64_t hash = (start + low) * kInverse;
    const KeyBits bits = KeyBitsOf(hash);
    if (bits.second_position < (1u << 17)) hashes.push_back(hash);
  }
  return hashes;
}

TEST(CuckooBuilder, AShardThatCannotBeFilledMayContainEverything) {
  HashList hashes;
  for (uint64_t hash : UnplaceableHashes(9)) hashes.push_back(hash);
  const Plan plan = PlanFor(hashes.size(), Budget());
  const Payload built = Build(hashes, plan, 0, 16);
  FilterBlockInfo info;
  info.family = Family::kCuckoo;
  info.key_count = hashes.size();
  info.parameter = built.parameter;
  info.payload = {built.data.get(), built.size};
  Table table;
  ASSERT_TRUE(ParseTable(info, &table));
  EXPECT_EQ(table.Offset(1) - table.Offset(0), 1u);
  const auto filter = Open(info);
  std::mt19937_64 random(43);
  for (uint64_t hash : hashes) EXPECT_TRUE(filter->MayContainHash(hash));
  for (int i = 0; i < 100; i++) EXPECT_TRUE(filter->MayContainHash(random()));
  EXPECT_EQ(SaturatedFraction(table), 1);
  EXPECT_EQ(ExpectedFalsePositiveRate(info), 1);
}

// The mathematics of the cuckoo family.

TEST(CuckooModel, FingerprintsMatchAsOftenAsItSays) {
  std::mt19937_64 random(31);
  for (int bits : {2, 3, 5, 8}) {
    constexpr int kPairs = 2000000;
    int equal = 0;
    for (int i = 0; i < kPairs; i++) {
      equal += StoredFingerprint(random(), bits) == StoredFingerprint(random(), bits);
    }
    const double expected = FingerprintMatchRate(bits);
    EXPECT_NEAR(equal / double{kPairs}, expected, 4 * std::sqrt(expected / kPairs)) << bits;
  }
}

// In shards as large as this, one percent below is always enough, and one percent above never.
TEST(CuckooModel, KeysCanBePlacedBelowTheThresholdOnly) {
  std::mt19937_64 random(32);
  constexpr uint32_t kSlots = 60000;
  Placement placement;
  for (double distance : {-0.01, 0.01}) {
    for (int round = 0; round < 5; round++) {
      std::vector<uint64_t> hashes(static_cast<size_t>((kLoadThreshold + distance) * kSlots));
      for (uint64_t& hash : hashes) hash = random();
      EXPECT_EQ(placement.Place(hashes, kSlots), distance < 0) << distance;
    }
  }
}

TEST(CuckooModel, IsTheTextbookRateForLongFingerprints) {
  EXPECT_NEAR(FalsePositiveRate(16, 0, 0.955), 4 * 0.955 / 65536, 1e-8);
  EXPECT_NEAR(FalsePositiveRate(16, 1, 0.955), FalsePositiveRate(17, 0, 0.955), 1e-12);
}

TEST(CuckooModel, ARateIsReachedWithHardlyMoreThanItNeeds) {
  for (double rate : {0.5, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6}) {
    Budget budget;
    budget.is_rate = true;
    budget.amount = rate;
    const Plan plan = PlanFor(1000000, budget);
    const double reached = FalsePositiveRate(plan.fingerprint_bits, plan.wide_share, plan.load);
    EXPECT_LE(reached, rate * 1.0001);
    EXPECT_GE(reached, rate * 0.99);
  }
}

TEST(CuckooPlan, SpendsTheBudget) {
  for (double bits = kMinBitsPerKey; bits <= kMaxBitsPerKey; bits += 0.37) {
    const uint64_t keys = 100000;
    Budget budget;
    budget.amount = bits;
    const Plan plan = PlanFor(keys, budget);
    EXPECT_GE(plan.wide_share, 0);
    EXPECT_LE(plan.wide_share, 1);
    const double spent = ExpectedPayloadBits(keys, plan) / keys;
    if (plan.fingerprint_bits + plan.wide_share < kMaxFingerprintBits) {
      EXPECT_NEAR(spent, bits, 0.001);
    } else {
      EXPECT_LE(spent, bits);
    }
  }
}

}  // namespace
}  // namespace rocksieve::cuckoo
