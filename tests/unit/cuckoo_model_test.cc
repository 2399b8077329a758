// The mathematics of the cuckoo family.
#include "lib/cuckoo/model.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "lib/cuckoo/layout.h"
#include "lib/cuckoo/placement.h"
#include "lib/cuckoo/plan.h"

namespace rocksieve::cuckoo {
namespace {

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
