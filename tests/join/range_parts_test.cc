// SPDX-License-Identifier: Apache-2.0
// What both sides of a session know of their ranges: which there are, how they begin to reconcile
// one, which of its keys are matched.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/session/client_ranges.h"
#include "lib/join/session/range_keys.h"
#include "lib/join/session/reconciliation.h"

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
}

TEST(OptionsFor, BothSidesAgreeAfterFiltersOfTheServer) {
  BothSides sides(RangeKeysOf(300, 100), RangeKeysOf(200, 200));
  sides.client.prunes = true;
  sides.server.pruning = {/*filters=*/3, /*digest=*/1, /*candidates=*/100};
  sides.client.their_pass_rate = sides.server.own_pass_rate = 0.05;
  sides.ExpectTheyAgree();
}

TEST(OptionsFor, BothSidesAgreeAfterFiltersOfTheClient) {
  BothSides sides(RangeKeysOf(300, 300), RangeKeysOf(200, 80));
  sides.server.prunes = true;
  sides.client.pruning = {/*filters=*/3, /*digest=*/1, /*candidates=*/80};
  sides.server.their_pass_rate = sides.client.own_pass_rate = 0.05;
  sides.ExpectTheyAgree();
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

}  // namespace
}  // namespace rocksieve::join
