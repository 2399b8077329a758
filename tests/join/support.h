// Joins in memory, and what they should give.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/rows/memory_source.h"
#include "lib/join/session/answering_side.h"
#include "lib/join/session/asking_side.h"
#include "tests/join/pipe.h"

namespace rocksieve::join {

using Table = MemorySource::Rows;
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

inline std::set<std::string> KeysOf(const Table& rows) {
  std::set<std::string> keys;
  for (const auto& [key, value] : rows) keys.insert(key);
  return keys;
}

inline Result Expected(Operation operation, const Table& asking, const Table& answering) {
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
  uint64_t most_bytes = 0;
  Tamper tamper;
};

inline Joined Join(Operation operation, const Table& asking_rows, const Table& answering_rows,
                   const Settings& settings = {}) {
  MemorySource here(asking_rows), there(answering_rows);
  Collector collector;
  AskingOptions asking;
  asking.operation = operation;
  asking.salt = 12345;
  asking.keys_per_range = settings.keys_per_range;
  asking.planner = settings.planner;
  asking.most_bytes = settings.most_bytes;
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

inline void ExpectExact(Operation operation, const Table& asking, const Table& answering,
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
inline std::pair<Table, Table> RandomSides(size_t asking, size_t answering, size_t common,
                                           uint64_t seed) {
  std::mt19937_64 random(seed);
  auto key = [&] {
    std::string bytes(16, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  };
  Table here, there;
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

}  // namespace rocksieve::join
