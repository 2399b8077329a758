// SPDX-License-Identifier: Apache-2.0
// What both sides of a session know of their ranges: which there are, how they begin to reconcile
// one, which of its keys are matched.
#include <atomic>
#include <chrono>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/rows/source.h"
#include "lib/join/session/client_ranges.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/range_keys.h"
#include "lib/join/session/range_result.h"
#include "lib/join/session/range_turns.h"
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

// What a join says about each of its ranges.

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

// Ranges that other threads compute for.

namespace {

TEST(Workers, DoWhatIsAddedOnceAndInTurn) {
  for (const size_t threads : {0, 1, 3}) {
    std::vector<int> order;
    std::atomic<int> done = 0;
    {
      Workers workers(threads);
      for (int i = 0; i < 100; i++) {
        workers.Add([&, i, threads] {
          if (threads <= 1) order.push_back(i);
          done++;
        });
      }
      while (done < 100) std::this_thread::yield();
    }
    EXPECT_EQ(done, 100);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(order.size(), threads <= 1 ? 100u : 0u);
  }
}

// The results, and every byte on the wire but for its order, are those of one thread.
TEST(RangeTurns, JoinsAreAsInOneThread) {
  Workers workers(3);
  std::mt19937_64 random(2);
  for (const Operation operation : kAllOperations) {
    for (const Strategy strategy : kAllStrategies) {
      const size_t mine = 500 + random() % 6000, theirs = 500 + random() % 6000;
      const auto [here, there] =
          RandomSides(mine, theirs, random() % (std::min(mine, theirs) + 1), random());
      Settings settings;
      settings.planner.strategy = strategy;
      const Joined one = Join(operation, here, there, settings);
      for (const size_t ahead : {2, 6}) {
        settings.workers = &workers;
        settings.ranges_ahead = ahead;
        ExpectExact(operation, here, there, settings);
        const Joined several = Join(operation, here, there, settings);
        EXPECT_TRUE(several.result == one.result);
        EXPECT_EQ(several.piped.to_server, one.piped.to_server) << NameOf(strategy);
        EXPECT_EQ(several.piped.to_client, one.piped.to_client) << NameOf(strategy);
        EXPECT_EQ(several.statistics.ranges, one.statistics.ranges);
        EXPECT_EQ(several.statistics.filters, one.statistics.filters);
      }
    }
  }
}

// Whatever is changed on its way: an error or the right result, and no side waits for ever.
TEST(RangeTurns, NothingWrongComesOfDamagedMessages) {
  Workers workers(2);
  std::mt19937_64 random(3);
  const auto [here, there] = RandomSides(3000, 3000, 2000, 1);
  const Result expected = Expected(Operation::kLocalOnly, here, there);
  int failed = 0;
  for (int round = 0; round < 150; round++) {
    Settings settings;
    settings.workers = &workers;
    settings.ranges_ahead = 4;
    const uint64_t at = random() % 40;
    settings.tamper = [&, at](uint64_t number, bool, std::string* message) {
      if (number != at) return true;
      (*message)[random() % message->size()] ^= static_cast<char>(1 << random() % 8);
      return true;
    };
    Joined joined = Join(Operation::kLocalOnly, here, there, settings);
    std::sort(joined.result.begin(), joined.result.end());
    failed += joined.piped.status.ok() ? 0 : 1;
    if (joined.piped.status.ok() && joined.statistics.local_only_keys == expected.size()) {
      EXPECT_TRUE(joined.result == expected);
    }
    for (const auto& row : joined.result) {
      EXPECT_TRUE(std::binary_search(expected.begin(), expected.end(), row));
    }
  }
  EXPECT_GT(failed, 50);
}

// Stops all scans but the first `free` ones until it is told to let them go.
class GatedSource final : public Source {
 public:
  GatedSource(const Table& rows, int free) : source_(rows), free_(free) {}
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    if (free_-- <= 0) {
      waiting = true;
      while (!open) std::this_thread::yield();
      if (fails) throw std::bad_alloc();
    }
    return source_.Scan(interval);
  }
  uint64_t EstimateKeys() override { return source_.EstimateKeys(); }

  std::atomic<bool> open = false, waiting = false, fails = false;

 private:
  MemorySource source_;
  std::atomic<int> free_;
};

// A server that ships its keys, which stops while it reads them.
struct Stopped {
  explicit Stopped(Workers* workers)
      : sides(RandomSides(2000, 2000, 1000, 5)), here(sides.first), there(sides.second, 1) {
    ClientSessionOptions client_options;
    client_options.salt = 77;
    client_options.planner.strategy = Strategy::kKeys;
    client_options.operation = Operation::kCount;
    ServerSessionOptions server_options;
    server_options.planner = client_options.planner;
    server_options.workers = workers;
    client.emplace(&here, nullptr, client_options);
    server.emplace(&there, server_options);
    // Hello, its answer, and the opening of the only range.
    EXPECT_TRUE(server->Receive(client->Next().value()).ok());
    EXPECT_TRUE(client->Receive(server->Next().value()).ok());
    opening = client->Next().value();
    EXPECT_TRUE(server->Receive(opening).ok());
    while (!there.waiting) std::this_thread::yield();
  }

  std::pair<Table, Table> sides;
  MemorySource here;
  GatedSource there;
  std::optional<ClientSession> client;
  std::optional<ServerSession> server;
  std::string opening;
};

TEST(RangeTurns, OthersAreHeardWhileOneIsComputed) {
  Workers workers(1);
  Stopped stopped(&workers);
  EXPECT_TRUE(stopped.server->computes());
  const absl::StatusOr<std::string> facts = stopped.server->Next();
  ASSERT_TRUE(facts.ok() && !facts->empty());
  EXPECT_TRUE(stopped.server->Next()->empty());  // at once
  std::atomic<int> rung = 0;
  stopped.server->WhenReady([&rung] { rung++; });
  stopped.there.open = true;
  while (rung == 0) std::this_thread::yield();
  const absl::StatusOr<std::string> keys = stopped.server->Next();
  ASSERT_TRUE(keys.ok());
  EXPECT_GT(keys->size(), 16000u);
  EXPECT_FALSE(stopped.server->computes());
}

// A message for the same range waits until it is computed, and finds it as it is then.
TEST(RangeTurns, AMessageForTheRangeWaits) {
  for (const bool opens_again : {false, true}) {
    Workers workers(1);
    Stopped stopped(&workers);
    std::jthread opener([&stopped] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stopped.there.open = true;
    });
    const std::string second = opens_again ? stopped.opening : Encode(Step{0, "x"});
    absl::Status status = stopped.server->Receive(second);
    EXPECT_TRUE(stopped.there.open);
    // A step that makes no sense is found to make none by another thread.
    while (status.ok()) status = stopped.server->Next().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

TEST(RangeTurns, AnExceptionIsThrownInTheSessionsThread) {
  Workers workers(1);
  Stopped stopped(&workers);
  stopped.there.fails = true;
  stopped.there.open = true;
  EXPECT_TRUE(stopped.server->Next().ok());  // the facts, whether it is ready or not
  EXPECT_THROW(
      {
        while (stopped.server->Next().ok()) std::this_thread::yield();
      },
      std::bad_alloc);
}

TEST(RangeTurns, TheEndOfASessionWaitsForWhatIsComputed) {
  Workers workers(1);
  Stopped stopped(&workers);
  std::jthread opener([&stopped] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stopped.there.open = true;
  });
  stopped.server.reset();
  EXPECT_TRUE(stopped.there.open);
}

// What was heard is in the account while it waits for a thread.
TEST(RangeTurns, WhatWasHeardTakesMemory) {
  MemoryAccount memory(1000);
  RangeTurns turns(nullptr, &memory);
  EXPECT_EQ(turns.Begin(1, nullptr, std::string(2000, 'x')).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(turns.empty());
  EXPECT_EQ(memory.used_bytes(), 0u);
}

}  // namespace

}  // namespace rocksieve::join
