// SPDX-License-Identifier: Apache-2.0
// Both sides of a join, over a pipe, against what sets say.
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

// Whatever computing is worth, results are exact; the dearer it is, the more is sent.
TEST(Join, IsExactForLinksOfAllRates) {
  for (const size_t common : {0u, 2000u, 4000u, 4980u}) {
    const auto [here, there] = RandomSides(5000, 5000, common, common + 1);
    uint64_t first_bytes = 0, last_bytes = 0;
    for (const double price : {0.0001, 0.001, 0.01, 0.1, 1., 10., 100.}) {
      Settings settings;
      settings.keys_per_range = 6000;
      settings.most_keys_per_range = 20000;
      settings.planner.weights.bits_per_cpu_ns = price;
      ExpectExact(Operation::kSymmetric, here, there, settings);
      const Piped piped = Join(Operation::kCount, here, there, settings).piped;
      last_bytes = piped.to_client + piped.to_server;
      if (first_bytes == 0) first_bytes = last_bytes;
    }
    // In the end only computing counts: where a few symbols do not do it, more is sent.
    EXPECT_GE(last_bytes + 10, first_bytes);
    if (common == 4000) {
      EXPECT_GT(last_bytes, 2 * first_bytes);
    } else if (common == 2000) {
      EXPECT_GT(last_bytes, 1.8 * first_bytes);  // a filter before the list is quicker
    }
  }
}

TEST(Join, IsExactAtAllSizesAndOverlaps) {
  for (Operation operation : kAllOperations) {
    for (const auto& [client, server] : {std::pair<size_t, size_t>{0, 0},
                                         {0, 1},
                                         {1, 0},
                                         {1, 1},
                                         {2, 700},
                                         {700, 2},
                                         {300, 300},
                                         {5000, 5000},
                                         {30, 9000},
                                         {9000, 30},
                                         {4000, 12000}}) {
      for (double overlap : {0.0, 0.1, 0.5, 0.9, 1.0}) {
        const auto common =
            static_cast<size_t>(overlap * static_cast<double>(std::min(client, server)));
        SCOPED_TRACE(testing::Message() << client << " x " << server << ", common " << common);
        const auto [here, there] = RandomSides(client, server, common, 7 + common);
        ExpectExact(operation, here, there);
      }
    }
  }
}

TEST(Join, IsExactWithEveryStrategyForced) {
  const auto [here, there] = RandomSides(2500, 2500, 1200, 3);
  for (Strategy strategy : kAllStrategies) {
    SCOPED_TRACE(NameOf(strategy));
    for (int most_round_trips : {1, 2, 4}) {
      Settings settings;
      settings.planner.strategy = strategy;
      settings.planner.most_round_trips = most_round_trips;
      for (Operation operation : kAllOperations) ExpectExact(operation, here, there, settings);
    }
  }
}

TEST(Join, RefusesToTakeMoreThanItMay) {
  const auto [here, there] = RandomSides(20000, 20000, 10000, 4);
  Settings settings;
  settings.keys_per_range = settings.most_keys_per_range = 1 << 20;
  settings.most_bytes = 10000;
  const Joined refused = Join(Operation::kIntersection, here, there, settings);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.piped.status)) << refused.piped.status;
  EXPECT_TRUE(refused.result.empty());
  EXPECT_LT(refused.piped.to_client + refused.piped.to_server, 15000u);
  settings.most_bytes = 60000;
  ExpectExact(Operation::kIntersection, here, there, settings);
}

TEST(Join, EqualRowsAreReadOnceIfNoneAreWanted) {
  const auto [here, there] = RandomSides(5000, 5000, 5000, 5);
  Settings settings;
  settings.keys_per_range = settings.most_keys_per_range = 1 << 20;
  for (Operation operation : kAllOperations) {
    const Joined joined = Join(operation, here, there, settings);
    ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
    ASSERT_EQ(joined.statistics.equal_ranges, 1u);
    const uint64_t times = SendsMatched(operation) ? 2 : 1;
    EXPECT_EQ(joined.rows_read_here, times * here.size()) << NameOf(operation);
    EXPECT_EQ(joined.rows_read_there, times * there.size()) << NameOf(operation);
  }
}

TEST(Join, FewBytesPerKey) {
  for (const auto& [overlap, most_bits] :
       {std::pair<double, double>{0.0, 3.5}, {0.1, 5.0}, {0.5, 7.0}, {0.9, 3.8}, {0.98, 1.05}}) {
    constexpr size_t kKeys = 100000;
    const auto [here, there] = RandomSides(kKeys, kKeys, static_cast<size_t>(overlap * kKeys), 11);
    Settings settings;
    settings.keys_per_range = settings.most_keys_per_range = 1 << 20;
    const Joined joined = Join(Operation::kCount, here, there, settings);
    ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
    const double bits =
        8.0 * static_cast<double>(joined.piped.to_client + joined.piped.to_server) / kKeys;
    EXPECT_LE(bits, most_bits) << overlap;
    EXPECT_LE(joined.statistics.most_range_round_trips, 6u) << overlap;
  }
}

}  // namespace
}  // namespace rocksieve::join
