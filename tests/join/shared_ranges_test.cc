// SPDX-License-Identifier: Apache-2.0
// Joins with several shards at once, which scan this side's ranges together.
#include "lib/join/session/shared_ranges.h"

#include <atomic>
#include <thread>

#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

// Counts the rows that are read.
class CountedSource final : public Source {
 public:
  CountedSource(const Table& rows, std::atomic<uint64_t>* scans) : rows_(rows), scans_(scans) {}
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    ++*scans_;
    return rows_.Scan(interval);
  }
  uint64_t EstimateKeys() override { return rows_.EstimateKeys(); }

 private:
  MemorySource rows_;
  std::atomic<uint64_t>* const scans_;
};

struct Sharded {
  Result result;
  Piped piped;
  Statistics statistics;
};

// Each shard in a thread of its own; `most_keys` of the servers.
std::vector<Sharded> JoinShards(Operation operation, const Table& here,
                                const std::vector<Table>& shards, std::atomic<uint64_t>* scans,
                                const SharedRanges::Options& options,
                                uint64_t most_keys = 100'000) {
  SharedRanges ranges(options);
  std::vector<std::unique_ptr<SharedRanges::Member>> members;
  for (size_t i = 0; i < shards.size(); i++) {
    members.push_back(std::make_unique<SharedRanges::Member>(&ranges));
  }
  std::vector<Sharded> results(shards.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < shards.size(); i++) {
    threads.emplace_back([&, i] {
      CountedSource mine(here, scans);
      MemorySource theirs(shards[i]);
      Collector collector;
      ClientSessionOptions client_options;
      client_options.operation = operation;
      client_options.salt = options.salt;
      client_options.keys_per_range = 500;
      client_options.shared = members[i].get();
      ServerSessionOptions server_options;
      server_options.most_keys_per_range = most_keys;
      ClientSession client(&mine, &collector, client_options);
      ServerSession server(&theirs, server_options);
      results[i].piped = RunPipe(&client, &server);
      results[i].result = collector.result();
      std::sort(results[i].result.begin(), results[i].result.end());
      results[i].statistics = client.statistics();
      members[i]->Leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

void ExpectExact(Operation operation, const Table& here, const std::vector<Table>& shards,
                 const std::vector<Sharded>& results) {
  for (size_t i = 0; i < shards.size(); i++) {
    ASSERT_TRUE(results[i].piped.status.ok()) << results[i].piped.status;
    EXPECT_TRUE(results[i].result == Expected(operation, here, shards[i])) << "shard " << i;
  }
}

TEST(SharedRanges, EachKeyIsScannedOnceForAllShards) {
  // Large shards: this side begins, with a filter.
  const auto [here, there] = RandomSides(4000, 100'000, 2000, 51);
  std::vector<Table> shards(4);
  for (size_t i = 0; i < there.size(); i++) shards[i % 4].push_back(there[i]);
  SharedRanges::Options options;
  options.salt = 99;
  options.patience = std::chrono::minutes(1);  // a loaded machine shall not change what is counted
  std::atomic<uint64_t> scans = 0;
  const std::vector<Sharded> results =
      JoinShards(Operation::kLocalOnly, here, shards, &scans, options);
  ExpectExact(Operation::kLocalOnly, here, shards, results);
  uint64_t hashed = 0, built = 0, sent = 0;
  for (const Sharded& shard : results) {
    hashed += shard.statistics.keys_hashed;
    built += shard.statistics.filters_built;
    sent += shard.statistics.filters;
  }
  EXPECT_EQ(hashed, KeysOf(here).size());
  EXPECT_GE(sent, 4 * built);
  EXPECT_GT(built, 0u);
}

TEST(SharedRanges, ShardsThatCutRangesStaySharedAfterwards) {
  const auto [here, there] = RandomSides(6000, 9000, 3000, 52);
  std::vector<Table> shards(2);
  for (size_t i = 0; i < there.size(); i++) shards[i % 3 == 0].push_back(there[i]);
  for (const Operation operation : kAllOperations) {
    SharedRanges::Options options;
    options.salt = 7;
    options.patience = std::chrono::minutes(1);
    std::atomic<uint64_t> scans = 0;
    // The larger shard takes 400 keys at once only, and cuts each range.
    const std::vector<Sharded> results =
        JoinShards(operation, here, shards, &scans, options, /*most_keys=*/400);
    ExpectExact(operation, here, shards, results);
    uint64_t hashed = 0;
    for (const Sharded& shard : results) hashed += shard.statistics.keys_hashed;
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
      std::shared_ptr<FilterMaker> filters;
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
  std::shared_ptr<FilterMaker> filters;
  bool scanned = false;
  EXPECT_TRUE(absl::IsDataLoss(first.Take(&broken, {}, 1, 10, &keys, &filters, &scanned)));
  EXPECT_TRUE(second.Take(&whole, {}, 1, 10, &keys, &filters, &scanned).ok());
  EXPECT_EQ(keys.sum.count, 1u);
}

}  // namespace
}  // namespace rocksieve::join
