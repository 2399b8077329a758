// Both sides of a join, over a pipe, against what sets say.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "join/answering_side.h"
#include "join/asking_side.h"
#include "join/memory_source.h"
#include "pipe.h"

namespace rocksieve::join {
namespace {

using Rows = MemorySource::Rows;
using Result = std::vector<std::tuple<std::string, std::string, Side>>;

class Collector final : public Sink {
 public:
  absl::Status Add(const Row& row, Side from) override {
    pending_.emplace_back(row.key, row.value, from);
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    result_.insert(result_.end(), pending_.begin(), pending_.end());
    pending_.clear();
    return absl::OkStatus();
  }
  absl::Status Discard() override {
    pending_.clear();
    return absl::OkStatus();
  }
  const Result& result() const { return result_; }

 private:
  Result result_, pending_;
};

std::set<std::string> KeysOf(const Rows& rows) {
  std::set<std::string> keys;
  for (const auto& [key, value] : rows) keys.insert(key);
  return keys;
}

Result Expected(Operation operation, const Rows& asking, const Rows& answering) {
  const std::set<std::string> here = KeysOf(asking), there = KeysOf(answering);
  Result result;
  for (const auto& [key, value] : answering) {
    const bool matched = here.count(key) != 0;
    if ((SendsMatched(operation) && matched) || (SendsUnmatched(operation) && !matched)) {
      result.emplace_back(key, value, Side::kAnswering);
    }
  }
  for (const auto& [key, value] : asking) {
    const bool local = operation == Operation::kLocalOnly || operation == Operation::kSymmetric;
    if (local && there.count(key) == 0) result.emplace_back(key, value, Side::kAsking);
  }
  std::sort(result.begin(), result.end());
  return result;
}

struct Joined {
  Piped piped;
  Result result;
  Statistics statistics;
};

struct Settings {
  uint64_t keys_per_range = 1000;
  uint64_t most_keys_per_range = 3000;
  PlannerOptions planner;
  Tamper tamper;
};

Joined Join(Operation operation, const Rows& asking_rows, const Rows& answering_rows,
            const Settings& settings = {}) {
  MemorySource here(asking_rows), there(answering_rows);
  Collector collector;
  AskingOptions asking;
  asking.operation = operation;
  asking.salt = 12345;
  asking.keys_per_range = settings.keys_per_range;
  asking.planner = settings.planner;
  AnsweringOptions answering;
  answering.most_keys_per_range = settings.most_keys_per_range;
  answering.planner = settings.planner;
  AskingSide asks(&here, &collector, asking);
  AnsweringSide answers(&there, answering);
  Joined joined;
  joined.piped = RunPipe(&asks, &answers, settings.tamper);
  joined.result = collector.result();
  joined.statistics = asks.statistics();
  if (joined.piped.status.ok() && !settings.tamper) {
    EXPECT_TRUE(asks.done() && answers.done());
  }
  return joined;
}

void ExpectExact(Operation operation, const Rows& asking, const Rows& answering,
                 const Settings& settings = {}) {
  Joined joined = Join(operation, asking, answering, settings);
  ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
  Result sorted = joined.result;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_TRUE(sorted == Expected(operation, asking, answering)) << NameOf(operation);
  const std::set<std::string> here = KeysOf(asking), there = KeysOf(answering);
  uint64_t matched = 0;
  for (const std::string& key : here) matched += there.count(key);
  EXPECT_EQ(joined.statistics.matched_keys, matched);
  EXPECT_EQ(joined.statistics.keys_of_asking_side_only, here.size() - matched);
  EXPECT_EQ(joined.statistics.keys_of_answering_side_only, there.size() - matched);
}

// Rows of random keys: `common` on both sides, the others on one.
std::pair<Rows, Rows> RandomSides(size_t asking, size_t answering, size_t common, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto key = [&] {
    std::string bytes(16, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  };
  Rows here, there;
  for (size_t i = 0; i < common; i++) {
    const std::string shared = key();
    here.emplace_back(shared, "here" + std::to_string(i));
    there.emplace_back(shared, "there" + std::to_string(i));
    if (i % 5 == 0) there.emplace_back(shared, "again");
  }
  for (size_t i = common; i < asking; i++) here.emplace_back(key(), "mine");
  for (size_t i = common; i < answering; i++) there.emplace_back(key(), "theirs");
  return {here, there};
}

TEST(Join, IsExactAtAllSizesAndOverlaps) {
  for (Operation operation : kAllOperations) {
    for (const auto& [asking, answering] : {std::pair<size_t, size_t>{0, 0},
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
            static_cast<size_t>(overlap * static_cast<double>(std::min(asking, answering)));
        SCOPED_TRACE(testing::Message() << asking << " x " << answering << ", common " << common);
        const auto [here, there] = RandomSides(asking, answering, common, 7 + common);
        ExpectExact(operation, here, there);
      }
    }
  }
}

TEST(Join, IsExactWithEveryStrategyForced) {
  const auto [here, there] = RandomSides(2500, 2500, 1200, 3);
  for (MoveKind forced : {MoveKind::kList, MoveKind::kKeys, MoveKind::kSymbols}) {
    for (int most_filters : {0, 1, 4}) {
      Settings settings;
      settings.planner.forced = forced;
      settings.planner.most_filters = most_filters;
      for (Operation operation : kAllOperations) ExpectExact(operation, here, there, settings);
    }
  }
}

TEST(Join, FewBytesPerKey) {
  for (double overlap : {0.0, 0.1, 0.5, 0.9, 0.98}) {
    constexpr size_t kKeys = 100000;
    const auto [here, there] = RandomSides(kKeys, kKeys, static_cast<size_t>(overlap * kKeys), 11);
    Settings settings;
    settings.keys_per_range = settings.most_keys_per_range = 1 << 20;
    const Joined joined = Join(Operation::kCount, here, there, settings);
    ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
    const double bits =
        8.0 * static_cast<double>(joined.piped.to_asking + joined.piped.to_answering) / kKeys;
    std::printf("overlap %.2f: %.2f bits per key, %d round trips, %d filters\n", overlap, bits,
                int(joined.piped.round_trips), int(joined.statistics.filters));
  }
}

}  // namespace
}  // namespace rocksieve::join
