// SPDX-License-Identifier: Apache-2.0
// What both sides of a session know of their ranges: which there are, how they begin to reconcile
// one, which of its keys are matched; and what a join says about each of its ranges.
#include "lib/join/memory_account.h"
#include "lib/join/session/client_ranges.h"
#include "lib/join/session/range_result.h"
#include "lib/join/session/reconciliation.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

std::vector<uint64_t> RangeNumbersOf(ClientRanges* ranges) {
  std::vector<uint64_t> numbers;
  for (const ClientRange& range : *ranges) numbers.push_back(range.number);
  return numbers;
}

TEST(ClientRanges, AreInKeyOrderWhateverIsCut) {
  uint64_t created = 0;
  ClientRanges ranges({"", std::nullopt}, {}, &created, nullptr);
  ClientRange* const first = *ranges.AddNext("m");
  EXPECT_EQ(ranges.rest()->begin, "m");
  ranges.GiveBack(first, "g");
  EXPECT_EQ(first->interval.end, "g");
  EXPECT_EQ(ranges.rest()->begin, "g");
  ASSERT_TRUE(ranges.AddNext(std::nullopt).ok());
  EXPECT_FALSE(ranges.rest());

  ASSERT_TRUE(ranges.CutShort(first, "c").ok());
  EXPECT_EQ(first->interval.end, "c");
  // Ranges that came are even, also for sessions that cut others; what was cut off is odd.
  EXPECT_EQ(RangeNumbersOf(&ranges), (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ((*ranges.Find(1))->interval.begin, "c");
  EXPECT_EQ((*ranges.Find(1))->interval.end, "g");
  EXPECT_EQ((*ranges.Find(2))->interval.begin, "g");
  EXPECT_FALSE(ranges.Find(3).ok());
  EXPECT_EQ(created, 3u);
}

TEST(ClientRanges, WhatIsUnfinishedBeginsWithTheFirst) {
  uint64_t created = 0;
  ClientRanges ranges({"b", "y"}, {}, &created, nullptr);
  EXPECT_EQ(ranges.Unfinished()->begin, "b");
  ASSERT_TRUE(ranges.AddNext("m").ok());
  ASSERT_TRUE(ranges.AddNext("y").ok());
  EXPECT_EQ(ranges.Unfinished()->begin, "b");
  ranges.PopFront();
  EXPECT_EQ(ranges.Unfinished()->begin, "m");
  EXPECT_EQ(ranges.Unfinished()->end, "y");
  ranges.PopFront();
  EXPECT_FALSE(ranges.Unfinished());
}

TEST(ClientRanges, LieInTheParts) {
  uint64_t created = 0;
  const std::vector<KeyInterval> parts = {{"a", "c"}, {"f", "g"}, {"k", "p"}, {"x", std::nullopt}};
  ClientRanges ranges({"b", "z"}, parts, &created, nullptr);
  EXPECT_EQ(ranges.rest()->begin, "b");  // what came before is done
  ASSERT_TRUE(ranges.AddNext("c").ok());
  ClientRange* const second = *ranges.AddNext("g");
  EXPECT_EQ(ranges.rest()->begin, "k");
  ranges.GiveBack(second, "fm");
  EXPECT_EQ(second->interval.end, "fm");
  EXPECT_EQ(ranges.rest()->begin, "fm");
  EXPECT_EQ(ranges.rest()->end, "g");
  ASSERT_TRUE(ranges.AddNext("g").ok());
  EXPECT_EQ(ranges.rest()->begin, "k");
  ClientRange* const third = *ranges.AddNext("m");
  ranges.GiveBack(third, "l");
  EXPECT_EQ(ranges.rest()->begin, "l");
  EXPECT_EQ(ranges.rest()->end, "p");
  ASSERT_TRUE(ranges.AddNext("p").ok());
  EXPECT_EQ(ranges.rest()->end, "z");
  for (int i = 0; i < 5; i++) ranges.PopFront();
  EXPECT_EQ(ranges.Unfinished()->begin, "x");
  ASSERT_TRUE(ranges.AddNext("z").ok());
  EXPECT_FALSE(ranges.rest());
  EXPECT_EQ(ranges.Unfinished()->end, "z");
  ranges.PopFront();
  EXPECT_FALSE(ranges.Unfinished());
}

TEST(ClientRanges, FencesAreTakenFromTheAccount) {
  uint64_t created = 0;
  MemoryAccount account(sizeof(ClientRange) + 4 * 10);
  ClientRanges ranges({"", std::nullopt}, {}, &created, &account);
  ASSERT_TRUE(ranges.AddNext(std::string(10, 'k')).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(ranges.AddNext("z").status()));
}

RangeKeys RangeKeysOf(uint64_t all, size_t candidates) {
  RangeKeys keys;
  keys.sum.count = all;
  keys.candidates.resize(candidates);
  return keys;
}

struct BothSides {
  OpenedRange client, server;
  RangeKeys client_keys, server_keys;

  BothSides(RangeKeys clients, RangeKeys servers)
      : client_keys(std::move(clients)), server_keys(std::move(servers)) {
    client.is_client = client.begins = true;
    client.theirs.count = server_keys.sum.count;
    server.theirs.count = client_keys.sum.count;
  }
  void ExpectTheyAgree() {
    const MatchingOptions theirs = OptionsFor(server, server_keys, {});
    client.common = theirs.common;  // as Facts say
    const MatchingOptions ours = OptionsFor(client, client_keys, {});
    EXPECT_EQ(ours.salt, theirs.salt);
    EXPECT_NE(ours.begins, theirs.begins);
    EXPECT_EQ(ours.common, theirs.common);
    EXPECT_EQ(ours.common_error, theirs.common_error);
    EXPECT_EQ(ours.their_count, static_cast<double>(server_keys.candidates.size()));
    EXPECT_EQ(theirs.their_count, static_cast<double>(client_keys.candidates.size()));
    // Nobody has more to list than candidates.
    EXPECT_EQ(ours.most_list_entries, server_keys.candidates.size());
    EXPECT_EQ(theirs.most_list_entries, client_keys.candidates.size());
  }
};

TEST(OptionsFor, BothSidesAgreeOnWhatIsKnown) {
  BothSides sides(RangeKeysOf(300, 300), RangeKeysOf(200, 200));
  sides.ExpectTheyAgree();
  sides.client.counters = sides.server.counters = 64;
  sides.server.common = 150;
  sides.ExpectTheyAgree();
  BothSides pruned_here(RangeKeysOf(300, 100), RangeKeysOf(200, 200));  // by filters of the server
  pruned_here.client.prunes = true;
  pruned_here.server.pruning = {/*filters=*/3, /*digest=*/1, /*candidates=*/100};
  pruned_here.client.their_pass_rate = pruned_here.server.own_pass_rate = 0.05;
  pruned_here.ExpectTheyAgree();
  BothSides pruned_there(RangeKeysOf(300, 300), RangeKeysOf(200, 80));  // by those of the client
  pruned_there.server.prunes = true;
  pruned_there.client.pruning = {/*filters=*/3, /*digest=*/1, /*candidates=*/80};
  pruned_there.server.their_pass_rate = pruned_there.client.own_pass_rate = 0.05;
  pruned_there.ExpectTheyAgree();
}

TEST(MatchedSweep, KnowsTheKeysThatWereLeft) {
  const MatchedKeys some = {/*all=*/false, {{{}, 2}, {{}, 5}}};
  MatchedSweep sweep(some);
  std::vector<uint32_t> matched;
  for (uint32_t ordinal = 0; ordinal < 8; ordinal++) {
    if (sweep.IsMatched(ordinal)) matched.push_back(ordinal);
  }
  EXPECT_EQ(matched, (std::vector<uint32_t>{2, 5}));
  const MatchedKeys all = {/*all=*/true, {}};
  EXPECT_TRUE(MatchedSweep(all).IsMatched(7));
  const MatchedKeys none;
  EXPECT_FALSE(MatchedSweep(none).IsMatched(0));
}

// What a join says about each of its ranges.

struct Reported : Joined {
  std::vector<RangeReport> ranges;
};

Reported JoinReporting(const Table& here, const Table& there,
                       Strategy strategy = Strategy::kAuto) {
  Reported reported;
  Settings settings(strategy, 1000, 1 << 20);
  settings.client.range_done = [&](const RangeReport& report) { reported.ranges.push_back(report); };
  static_cast<Joined&>(reported) = Join(Operation::kDifference, here, there, settings);
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
  const Reported reported = JoinReporting(here, there, Strategy::kRibbon);
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
