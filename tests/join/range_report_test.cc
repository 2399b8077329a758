// SPDX-License-Identifier: Apache-2.0
// What a join says about each of its ranges.
#include "lib/join/session/range_result.h"

#include "lib/join/rows/source.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

struct Reported {
  Piped piped;
  Statistics statistics;
  std::vector<RangeReport> ranges;
};

Reported JoinReporting(const Table& here_rows, const Table& there_rows,
                       const PlannerOptions& planner = {}) {
  MemorySource here(here_rows), there(there_rows);
  Collector collector;
  Reported reported;
  ClientSessionOptions client_options;
  client_options.operation = Operation::kDifference;
  client_options.keys_per_range = 1000;
  client_options.planner = planner;
  client_options.range_done = [&](const RangeReport& report) { reported.ranges.push_back(report); };
  ServerSessionOptions server_options;
  server_options.planner = planner;
  ClientSession client(&here, &collector, client_options);
  ServerSession server(&there, server_options);
  reported.piped = RunPipe(&client, &server);
  reported.statistics = client.statistics();
  return reported;
}

TEST(RangeReport, RangesAddUpToTheWhole) {
  const auto [here, there] = RandomSides(4000, 5000, 2500, 41);
  const Reported reported = JoinReporting(here, there);
  ASSERT_TRUE(reported.piped.status.ok()) << reported.piped.status;
  ASSERT_EQ(reported.ranges.size(), reported.statistics.ranges);
  uint64_t mine = 0, theirs = 0, matched = 0, sent = 0, received = 0;
  std::string begin;
  for (const RangeReport& range : reported.ranges) {
    EXPECT_EQ(range.interval.begin, begin);
    begin = range.interval.end.value_or("");
    mine += range.client_keys;
    theirs += range.server_keys;
    matched += range.matched_keys;
    sent += range.sent.total();
    received += range.received.total();
    EXPECT_GE(range.round_trips, 2u);
    EXPECT_FALSE(range.parts.empty());
    EXPECT_EQ(
        range.keys_pruned + range.matched_keys + range.client_false_positives <= range.client_keys,
        true);
  }
  EXPECT_EQ(begin, "");  // the last one has no end
  EXPECT_EQ(mine, KeysOf(here).size());
  EXPECT_EQ(theirs, KeysOf(there).size());
  EXPECT_EQ(matched, 2500u);
  // All but hello, its answer and goodbye.
  EXPECT_LT(reported.piped.to_server - sent, 100u);
  EXPECT_LT(reported.piped.to_client - received, 100u);
}

TEST(RangeReport, CountsWhatPassedAFilterInVain) {
  // One filter from there, then a list from here: what it says can be counted.
  const auto [here, there] = RandomSides(900, 900, 300, 42);
  PlannerOptions planner;
  planner.strategy = Strategy::kRibbon;
  const Reported reported = JoinReporting(here, there, planner);
  ASSERT_TRUE(reported.piped.status.ok()) << reported.piped.status;
  ASSERT_EQ(reported.ranges.size(), 1u);
  const RangeReport& range = reported.ranges.front();
  EXPECT_EQ(PartsOf(range), "filter list");
  EXPECT_GT(range.keys_pruned, 0u);
  EXPECT_EQ(range.keys_pruned + range.client_false_positives, 600u);
  EXPECT_EQ(range.server_false_positives, 0u);  // it was sent no filter
}

TEST(RangeReport, EqualRanges) {
  const auto [here, there] = RandomSides(500, 500, 500, 43);
  const Reported reported = JoinReporting(here, there);
  ASSERT_EQ(reported.ranges.size(), 1u);
  EXPECT_EQ(PartsOf(reported.ranges.front()), "equal");
  EXPECT_EQ(reported.ranges.front().matched_keys, 500u);
}

// The figures of a textbook Bloom join with 10 bits per key and keys of 124 bits, of 1M and 1M.
TEST(RangeReport, PricesTheAlternatives) {
  RangeReport range;
  range.client_keys = range.server_keys = 1'000'000;
  range.bits_per_key = 124;
  for (const auto& [overlap, bits] : {std::pair(0.0, 11.0), {0.1, 23.3}, {0.5, 72.5}, {0.9, 122}}) {
    range.matched_keys = static_cast<uint64_t>(overlap * 1e6);
    EXPECT_NEAR(TextbookBloomJoinBytes(range) * 8 / 1e6, bits, 0.3) << overlap;
  }
  EXPECT_DOUBLE_EQ(ShippedKeysBytes(range), 124e6 / 8);
}

TEST(IntervalText, IsShortAndPrintable) {
  EXPECT_EQ(TextOf({}), "of all keys");
  EXPECT_EQ(TextOf({"a", std::nullopt}), "from \"a\"");
  EXPECT_EQ(TextOf({"", "b"}), "up to \"b\"");
  EXPECT_EQ(TextOf({std::string("\0\"", 2), std::string(1000, 'x')}),
            "from \"\\x00\\\"\" up to \"" + std::string(48, 'x') + "...\"");
  const absl::Status once = Naming({"a", "b"}, absl::AbortedError("why"));
  EXPECT_EQ(once.message(), "why (in the range from \"a\" up to \"b\")");
  EXPECT_EQ(Naming({"c", "d"}, once), once);
}

}  // namespace
}  // namespace rocksieve::join
