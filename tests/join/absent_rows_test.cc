// SPDX-License-Identifier: Apache-2.0
// Joins on expressions, with duplicates and NULL keys, against the two loops that SQL's EXISTS and
// NOT EXISTS stand for.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/rows/key_list.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

using JoinKeys = std::vector<std::optional<std::string>>;  // of a table's rows

JoinKeys Extracted(const Table& table, const std::string& on) {
  const JoinKeyExpression expression = *JoinKeyExpression::Parse(on);
  JoinKeys join_keys;
  for (const auto& [key, value] : table) {
    std::string extracted;
    const bool present = expression.Extract({key, value}, &extracted);
    join_keys.push_back(present ? std::optional(extracted) : std::nullopt);
  }
  return join_keys;
}

// WHERE [NOT] EXISTS (SELECT * FROM there WHERE there.key = here.key)
void AddWhere(bool exists, const Table& here, const JoinKeys& mine, const JoinKeys& theirs,
              Side side, Result* result) {
  for (size_t i = 0; i < here.size(); i++) {
    const bool found = mine[i] && std::find(theirs.begin(), theirs.end(), mine[i]) != theirs.end();
    if (found == exists) result->emplace_back(here[i].first, here[i].second, side);
  }
}

std::unique_ptr<Source> SourceOf(const Table& table, const std::string& on) {
  if (on == "key") return std::make_unique<MemorySource>(table);
  MemorySource rows(table);
  auto source = JoinKeySource::Sort(&rows, *JoinKeyExpression::Parse(on));
  EXPECT_TRUE(source.ok()) << source.status();
  return *std::move(source);
}

struct Outcome {
  absl::Status status;
  Result result;
  Statistics statistics;
};

Outcome RunJoin(Operation operation, Source* here, Source* there, bool here_packed,
                bool there_packed) {
  Collector collector;
  UnpackingSink sink(&collector, here_packed, there_packed);
  ClientSessionOptions options;
  options.operation = operation;
  options.salt = 99;
  options.keys_per_range = 60;
  ClientSession client(here, &sink, options);
  ServerSession server(there, {});
  Outcome outcome;
  outcome.status = RunPipe(&client, &server).status;
  outcome.result = collector.result();
  std::sort(outcome.result.begin(), outcome.result.end());
  outcome.statistics = client.statistics();
  EXPECT_EQ(client.done() && server.done(), outcome.status.ok());
  return outcome;
}

// Orders with or without a customer; a customer may have many.
Table Orders(size_t count, size_t customers, double absent, uint64_t seed) {
  std::mt19937_64 random(seed);
  Table table;
  for (size_t i = 0; i < count; i++) {
    const bool without = std::uniform_real_distribution<>()(random) < absent;
    std::string value = R"({"total": 1)";
    if (!without) value += ", \"customer\": " + std::to_string(random() % customers);
    if (without && i % 2 == 0) value += ", \"customer\": null";
    table.emplace_back("order" + std::to_string(seed) + "-" + std::to_string(i), value + "}");
  }
  return table;
}

Table Customers(size_t begin, size_t end) {
  Table table;
  for (size_t i = begin; i < end; i++) {
    table.emplace_back(std::to_string(i), std::to_string(i) + "|name");
  }
  return table;
}

void ExpectAsInSql(const Table& here, const std::string& left_on, const Table& there,
                   const std::string& right_on) {
  const JoinKeys mine = Extracted(here, left_on), theirs = Extracted(there, right_on);
  const std::unique_ptr<Source> left = SourceOf(here, left_on), right = SourceOf(there, right_on);
  for (Operation operation : kAllOperations) {
    SCOPED_TRACE(testing::Message() << NameOf(operation) << ", " << left_on << " = " << right_on);
    Result expected;
    if (SendsMatched(operation)) {
      AddWhere(true, there, theirs, mine, Side::kServer, &expected);
    }
    if (SendsUnmatched(operation)) {
      AddWhere(false, there, theirs, mine, Side::kServer, &expected);
    }
    if (EmitsLocalRows(operation)) AddWhere(false, here, mine, theirs, Side::kClient, &expected);
    std::sort(expected.begin(), expected.end());
    const Outcome outcome =
        RunJoin(operation, left.get(), right.get(), left_on != "key", right_on != "key");
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_TRUE(outcome.result == expected)
        << outcome.result.size() << " rows, expected are " << expected.size();

    std::set<std::string> distinct_mine, distinct_theirs;
    for (const auto& join_key : mine) {
      if (join_key) distinct_mine.insert(*join_key);
    }
    for (const auto& join_key : theirs) {
      if (join_key) distinct_theirs.insert(*join_key);
    }
    uint64_t common = 0;
    for (const std::string& join_key : distinct_mine) common += distinct_theirs.count(join_key);
    EXPECT_EQ(outcome.statistics.matched_keys, common);
    EXPECT_EQ(outcome.statistics.local_only_keys, distinct_mine.size() - common);
    EXPECT_EQ(outcome.statistics.remote_only_keys, distinct_theirs.size() - common);
    if (operation == Operation::kCount || operation == Operation::kSymmetric) {
      EXPECT_EQ(outcome.statistics.local_absent_rows,
                static_cast<uint64_t>(std::count(mine.begin(), mine.end(), std::nullopt)));
      EXPECT_EQ(outcome.statistics.remote_absent_rows,
                static_cast<uint64_t>(std::count(theirs.begin(), theirs.end(), std::nullopt)));
    }
  }
}

TEST(JoinOnExpression, IsWhatSqlSays) {
  const std::string customer = "value.json(/customer)", id = "value.field(|,1)";
  for (double absent : {0.0, 0.3, 1.0}) {
    const Table orders = Orders(700, 150, absent, 1), more = Orders(500, 200, absent, 2);
    ExpectAsInSql(Customers(100, 250), "key", orders, customer);
    ExpectAsInSql(orders, customer, Customers(100, 250), "key");
    ExpectAsInSql(Customers(100, 250), id, orders, customer);
    ExpectAsInSql(orders, customer, more, customer);
    ExpectAsInSql(orders, customer, {}, "key");
    ExpectAsInSql({}, "key", orders, customer);
    ExpectAsInSql({}, customer, {}, customer);
  }
}

// An empty join key is one, and matches another empty one.
TEST(JoinOnExpression, EmptyIsNotAbsent) {
  const Table here = {{"1", "a|"}, {"2", "a"}, {"3", "|b"}}, there = {{"x", "b|"}, {"y", "b"}};
  ExpectAsInSql(here, "value.field(|,2)", there, "value.field(|,2)");
  ExpectAsInSql(here, "value.field(|,1)", there, "value.field(|,2)");
}

TEST(JoinOnExpression, SendsManyAndLargeAbsentRows) {
  Table there;
  for (int i = 0; i < 3000; i++) there.emplace_back(std::to_string(i), std::string(200, 'v'));
  there.emplace_back("huge", std::string(16 << 20, 'h'));
  ExpectAsInSql({{"a", "x|a"}}, "value.field(|,2)", there, "value.field(|,2)");
}

// Gives other absent rows after the first scan, as many times as it is told to.
class Fickle final : public Source {
 public:
  Fickle(std::vector<Table> absent) : absent_(std::move(absent)) {}
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    return empty_.Scan(interval);
  }
  std::unique_ptr<Cursor> ScanAbsent() override {
    MemorySource& now = *kept_.emplace_back(
        std::make_unique<MemorySource>(absent_[std::min(scans_++, absent_.size() - 1)]));
    return now.Scan({});
  }
  uint64_t EstimateKeys() override { return 0; }

 private:
  MemorySource empty_{{}};
  std::vector<Table> absent_;
  std::vector<std::unique_ptr<MemorySource>> kept_;
  size_t scans_ = 0;
};

TEST(JoinOnExpression, ProvesThatAbsentRowsAreComplete) {
  const Table good = {{"", "a"}, {"", "b"}};
  const Table wrong[] = {{{"", "a"}},
                         {{"", "a"}, {"", "b"}, {"", "c"}},
                         {{"", "a"}, {"", "c"}},
                         {{"", "a"}, {"", "a"}},
                         {}};
  for (const Table& lie : wrong) {
    for (Operation operation : {Operation::kDifference, Operation::kSymmetric}) {
      MemorySource here({});
      Fickle always({good, lie});
      const Outcome failed = RunJoin(operation, &here, &always, false, false);
      EXPECT_TRUE(absl::IsDataLoss(failed.status)) << failed.status;
      EXPECT_TRUE(failed.result.empty());
      Fickle once({good, lie, good});
      const Outcome repeated = RunJoin(operation, &here, &once, false, false);
      EXPECT_TRUE(repeated.status.ok()) << repeated.status;
      EXPECT_EQ(repeated.result, (Result{{"", "a", Side::kServer}, {"", "b", Side::kServer}}));
      EXPECT_EQ(repeated.statistics.repeated_ranges, 1u);
    }
  }
}

TEST(JoinOnExpression, LeavesOwnAbsentRowsToTheCallerIfToldSo) {
  const Table table = {{"1", "a|b"}, {"2", "none"}};
  const std::unique_ptr<Source> here = SourceOf(table, "value.field(|,2)");
  MemorySource there({});
  Collector collector;
  ClientSessionOptions options;
  options.operation = Operation::kLocalOnly;
  options.own_absent_rows = false;
  UnpackingSink sink(&collector, true, false);
  ClientSession client(here.get(), &sink, options);
  ServerSession server(&there, {});
  EXPECT_TRUE(RunPipe(&client, &server).status.ok());
  EXPECT_EQ(collector.result(), (Result{{"1", "a|b", Side::kClient}}));
  uint64_t rows = 0;
  EXPECT_TRUE(EmitAbsentRows(here.get(), &sink, &rows).ok() && sink.Commit().ok());
  EXPECT_EQ(rows, 1u);
  EXPECT_EQ(collector.result().back(), (Result::value_type{"2", "none", Side::kClient}));
}

TEST(JoinOnExpression, SaysThatRowsAreNotPacked) {
  MemorySource here({}), there({{"a", std::string("\xff\xff")}});
  const Outcome outcome = RunJoin(Operation::kDifference, &here, &there, false, true);
  EXPECT_TRUE(absl::IsInvalidArgument(outcome.status)) << outcome.status;
}

}  // namespace
}  // namespace rocksieve::join
