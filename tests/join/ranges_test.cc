// SPDX-License-Identifier: Apache-2.0
// What a join says about each of its ranges; ranges that other threads compute for, and those of
// joins with several shards at once, which scan this side's ranges together.
#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "lib/join/memory_account.h"
#include "lib/join/session/range_result.h"
#include "lib/join/session/range_turns.h"
#include "lib/join/session/shared_ranges.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

struct Reported : Joined {
  std::vector<RangeReport> ranges;
};

Reported JoinReporting(const Table& here, const Table& there, Strategy strategy = Strategy::kAuto) {
  Reported reported;
  Settings settings(strategy, 1000, 1 << 20);
  settings.client.range_done = [&](const RangeReport& report) {
    reported.ranges.push_back(report);
  };
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
    EXPECT_EQ(range.begin, begin);
    begin = range.end.value_or("");
    mine += range.local_keys;
    theirs += range.remote_keys;
    matched += range.matched_keys;
    sent += range.sent.total();
    received += range.received.total();
    EXPECT_GE(range.round_trips, 2u);
    EXPECT_FALSE(range.parts.empty());
    EXPECT_EQ(
        range.keys_pruned + range.matched_keys + range.local_false_positives <= range.local_keys,
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
  EXPECT_EQ(range.keys_pruned + range.local_false_positives, 600u);
  EXPECT_EQ(range.remote_false_positives, 0u);  // it was sent no filter
}

// The figures of a textbook Bloom join with 10 bits per key and keys of 124 bits, of 1M and 1M.
TEST(RangeReport, PricesTheAlternatives) {
  RangeReport range;
  range.local_keys = range.remote_keys = 1'000'000;
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
      Settings settings(strategy);
      const Joined one = Join(operation, here, there, settings);
      for (const size_t ahead : {2, 6}) {
        settings.workers = &workers;
        settings.client.ranges_ahead = ahead;
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

// Where ranges would be too small to be worth it, fewer are under way: the server has memory for
// the keys of two that are as large as it takes.
TEST(RangeTurns, HaveNoMoreKeysUnderWayThanTheServerTakes) {
  for (const auto& [theirs, most_ranges] : {std::pair(10'000, 3), {60'000, 2}}) {
    Settings settings(Strategy::kSymbols, 1 << 20, /*most_keys_per_range=*/2184);
    settings.client.ranges_ahead = 6;
    settings.server.most_ranges = most_ranges;  // more are refused
    const auto [here, there] = RandomSides(10'000, theirs, 6000, 8);
    ExpectExact(Operation::kIntersection, here, there, settings);
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
    settings.client.ranges_ahead = 4;
    settings.tamper = FlipBit(random() % 40, random());
    const Joined joined = Join(Operation::kLocalOnly, here, there, settings);
    failed += joined.piped.status.ok() ? 0 : 1;
    if (joined.piped.status.ok() && joined.statistics.local_only_keys == expected.size()) {
      EXPECT_TRUE(joined.sorted == expected);
    }
    ExpectNoWrongRow(joined, expected);
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

// Each shard in a thread of its own; `most_keys` of the servers. All are exact.
std::vector<Statistics> JoinShards(Operation operation, const Table& here,
                                   const std::vector<Table>& shards, uint64_t most_keys) {
  SharedRanges::Options options;
  options.salt = 99;
  options.patience = std::chrono::minutes(1);  // a loaded machine shall not change what is counted
  SharedRanges ranges(options);
  std::deque<SharedRanges::Member> members;
  for (size_t i = 0; i < shards.size(); i++) members.emplace_back(&ranges);
  std::vector<Statistics> statistics(shards.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < shards.size(); i++) {
    threads.emplace_back([&, i] {
      Settings settings(Strategy::kAuto, 500, most_keys);
      settings.client.salt = options.salt;
      settings.client.shared = &members[i];
      const Joined joined = Join(operation, here, shards[i], settings);
      members[i].Leave();
      ExpectExactResult(operation, here, shards[i], joined);
      statistics[i] = joined.statistics;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return statistics;
}

TEST(SharedRanges, EachKeyIsScannedOnceForAllShards) {
  // Large shards: this side begins, with a filter.
  const auto [here, there] = RandomSides(4000, 100'000, 2000, 51);
  std::vector<Table> shards(4);
  for (size_t i = 0; i < there.size(); i++) shards[i % 4].push_back(there[i]);
  uint64_t hashed = 0, built = 0, sent = 0;
  for (const Statistics& shard : JoinShards(Operation::kLocalOnly, here, shards, 100'000)) {
    hashed += shard.keys_hashed;
    built += shard.filters_built;
    sent += shard.filters;
  }
  EXPECT_EQ(hashed, KeysOf(here).size());
  EXPECT_GE(sent, 4 * built);
  EXPECT_GT(built, 0u);
}

// Else a server that is ahead could say where the ranges of another one end.
TEST(SharedRanges, RangesThatEndElsewhereAreNotShared) {
  SharedRanges::Options options;
  SharedRanges ranges(options);
  SharedRanges::Member first(&ranges), second(&ranges);
  MemorySource source(Table{{"a", ""}, {"b", ""}, {"c", ""}});
  FilterMaker filters;
  RangeKeys keys;
  bool scanned = false;
  ASSERT_TRUE(first.Take(&source, {"", "b"}, 1, 100, &keys, &filters, &scanned).ok());
  EXPECT_EQ(keys.sum.count, 1u);
  ASSERT_TRUE(second.Take(&source, {"", std::nullopt}, 1, 100, &keys, &filters, &scanned).ok());
  EXPECT_EQ(keys.sum.count, 3u);
  EXPECT_TRUE(scanned);
}

TEST(SharedRanges, ShardsThatCutRangesStaySharedAfterwards) {
  const auto [here, there] = RandomSides(6000, 9000, 3000, 52);
  std::vector<Table> shards(2);
  for (size_t i = 0; i < there.size(); i++) shards[i % 3 == 0].push_back(there[i]);
  for (const Operation operation : kAllOperations) {
    uint64_t hashed = 0;
    // The larger shard takes 400 keys at once only, and cuts each range.
    for (const Statistics& shard : JoinShards(operation, here, shards, 400)) {
      hashed += shard.keys_hashed;
    }
    EXPECT_LT(hashed, 3 * KeysOf(here).size());
  }
}

TEST(SharedRanges, AShardThatIsBehindHoldsNobodyUp) {
  const auto [here, there] = RandomSides(10'000, 10'000, 5000, 53);
  SharedRanges::Options options;
  options.most_kept = 2;
  options.patience = std::chrono::milliseconds(1);
  SharedRanges ranges(options);
  SharedRanges::Member quick(&ranges), slow(&ranges);
  MemorySource source(here);
  const auto take_all = [&](SharedRanges::Member* member, uint64_t* scanned_keys) {
    KeyInterval rest;
    uint64_t keys_seen = 0;
    for (uint64_t range = 0;; range += 2) {
      RangeKeys keys;
      FilterMaker filters;
      bool scanned = false;
      EXPECT_TRUE(member->Take(&source, rest, range, 100, &keys, &filters, &scanned).ok());
      keys_seen += keys.sum.count;
      if (scanned) *scanned_keys += keys.sum.count;
      if (!keys.next_key) return keys_seen;
      rest.begin = *keys.next_key;
    }
  };
  uint64_t quick_scanned = 0, slow_scanned = 0;
  EXPECT_EQ(take_all(&quick, &quick_scanned), 10'000u);
  EXPECT_EQ(quick_scanned, 10'000u);
  EXPECT_EQ(take_all(&slow, &slow_scanned), 10'000u);
  EXPECT_GT(slow_scanned, 9'000u);
}

TEST(SharedRanges, WhoFailsToScanFailsAlone) {
  class Broken final : public Source {
   public:
    std::unique_ptr<Cursor> Scan(const KeyInterval&) override {
      class Failing final : public Cursor {
        bool Next(Row*) override { return false; }
        absl::Status status() const override { return absl::DataLossError("a broken disk"); }
      };
      return std::make_unique<Failing>();
    }
    uint64_t EstimateKeys() override { return 1; }
  };
  SharedRanges ranges({});
  SharedRanges::Member first(&ranges), second(&ranges);
  Broken broken;
  MemorySource whole(Table{{"a", "1"}});
  RangeKeys keys;
  FilterMaker filters;
  bool scanned = false;
  EXPECT_TRUE(absl::IsDataLoss(first.Take(&broken, {}, 1, 10, &keys, &filters, &scanned)));
  EXPECT_TRUE(second.Take(&whole, {}, 1, 10, &keys, &filters, &scanned).ok());
  EXPECT_EQ(keys.sum.count, 1u);
}

}  // namespace
}  // namespace rocksieve::join
