// SPDX-License-Identifier: Apache-2.0
// Joins in memory, and what they should give.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/session/client_session.h"
#include "lib/join/session/server_session.h"
#include "tests/join/memory_source.h"
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

inline Result Expected(Operation operation, const Table& client, const Table& server) {
  const std::set<std::string> here = KeysOf(client), there = KeysOf(server);
  Result result;
  for (const auto& [key, value] : server) {
    const bool matched = here.count(key) != 0;
    if ((SendsMatched(operation) && matched) || (SendsUnmatched(operation) && !matched)) {
      result.emplace_back(key, value, Side::kServer);
    }
  }
  for (const auto& [key, value] : client) {
    const bool local = operation == Operation::kLocalOnly || operation == Operation::kSymmetric;
    if (local && there.count(key) == 0) result.emplace_back(key, value, Side::kClient);
  }
  std::sort(result.begin(), result.end());
  return result;
}

struct Joined {
  Piped piped;
  Result result;
  Statistics statistics;
  uint64_t rows_read_here = 0, rows_read_there = 0;
};

struct Settings {
  uint64_t keys_per_range = 1000;
  uint64_t most_keys_per_range = 3000;
  PlannerOptions planner;
  uint64_t most_bytes = 0;
  Tamper tamper;
  Workers* workers = nullptr;  // of both sides
  size_t ranges_ahead = 2;
};

// Counts what all scans read.
class CountedSource final : public Source {
 public:
  explicit CountedSource(const Table& rows) : source_(rows) {}
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    return std::make_unique<CountedCursor>(source_.Scan(interval), &rows_read_);
  }
  uint64_t EstimateKeys() override { return source_.EstimateKeys(); }
  uint64_t rows_read() const { return rows_read_; }

 private:
  class CountedCursor final : public Cursor {
   public:
    CountedCursor(std::unique_ptr<Cursor> cursor, std::atomic<uint64_t>* rows_read)
        : cursor_(std::move(cursor)), rows_read_(rows_read) {}
    bool Next(Row* row) override {
      const bool any = cursor_->Next(row);
      *rows_read_ += any;
      return any;
    }
    absl::Status status() const override { return cursor_->status(); }

   private:
    const std::unique_ptr<Cursor> cursor_;
    std::atomic<uint64_t>* const rows_read_;
  };

  MemorySource source_;
  std::atomic<uint64_t> rows_read_ = 0;
};

inline Joined Join(Operation operation, const Table& client_rows, const Table& server_rows,
                   const Settings& settings = {}) {
  CountedSource here(client_rows), there(server_rows);
  Collector collector;
  ClientSessionOptions client_options;
  client_options.operation = operation;
  client_options.salt = 12345;
  client_options.keys_per_range = settings.keys_per_range;
  client_options.planner = settings.planner;
  client_options.most_bytes = settings.most_bytes;
  client_options.workers = settings.workers;
  client_options.ranges_ahead = settings.ranges_ahead;
  ServerSessionOptions server_options;
  server_options.most_keys_per_range = settings.most_keys_per_range;
  server_options.planner = settings.planner;
  server_options.workers = settings.workers;
  ClientSession client(&here, &collector, client_options);
  ServerSession server(&there, server_options);
  Joined joined;
  joined.piped = RunPipe(&client, &server, settings.tamper);
  joined.result = collector.result();
  joined.statistics = client.statistics();
  joined.rows_read_here = here.rows_read();
  joined.rows_read_there = there.rows_read();
  if (joined.piped.status.ok() && !settings.tamper) {
    EXPECT_TRUE(client.done() && server.done());
  }
  return joined;
}

inline void ExpectExact(Operation operation, const Table& client, const Table& server,
                        const Settings& settings = {}) {
  Joined joined = Join(operation, client, server, settings);
  ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
  Result sorted = joined.result;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_TRUE(sorted == Expected(operation, client, server)) << NameOf(operation);
  const std::set<std::string> here = KeysOf(client), there = KeysOf(server);
  uint64_t matched = 0;
  for (const std::string& key : here) matched += there.count(key);
  EXPECT_EQ(joined.statistics.matched_keys, matched);
  EXPECT_EQ(joined.statistics.local_only_keys, here.size() - matched);
  EXPECT_EQ(joined.statistics.remote_only_keys, there.size() - matched);
}

// Rows of random keys: `common` on both sides, the others on one.
inline std::pair<Table, Table> RandomSides(size_t client, size_t server, size_t common,
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
  for (size_t i = common; i < client; i++) here.emplace_back(key(), "mine");
  for (size_t i = common; i < server; i++) there.emplace_back(key(), "theirs");
  return {here, there};
}

}  // namespace rocksieve::join
