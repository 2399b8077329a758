// SPDX-License-Identifier: Apache-2.0
// Ranges that other threads compute for.
#include "lib/join/session/range_turns.h"

#include <atomic>
#include <chrono>
#include <new>
#include <random>
#include <thread>

#include "lib/join/session/messages.h"
#include "tests/join/support.h"

namespace rocksieve::join {
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
