// SPDX-License-Identifier: Apache-2.0
// Values of matched keys, compared in memory, beside a comparison one by one.
#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/matching/value_comparison.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/key_list.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kValuesSalt = 4711;

using RowNumbers = std::vector<uint32_t>;
using ValuesState = ValueComparison::State;
// May change the body of a part; `number` counts the parts of both sides from 0.
using TamperValues = std::function<void(uint64_t number, Part part, std::string* body)>;

// Rows, some of which have other values at the server. RowNumbers have gaps where keys are not
// matched, other ones on each side.
struct ValuesCase {
  size_t rows = 0;
  std::vector<bool> changed;
  uint64_t seed = 1;
  bool differ = false;
  int most_round_trips = 4;
  uint64_t memory_bytes = UINT64_MAX;
  TamperValues tamper;
};

struct ValuesOutcome {
  absl::Status status;
  ValuesState client = ValuesState::kTheirTurn;
  bool server_said_sum = false;
  // Numbers of rows, at either side.
  RowNumbers client_equal, client_changed, server_equal, server_changed;
  uint64_t bytes = 0, turns = 0, parts = 0;
};

ValuesOutcome CompareValues(const ValuesCase& values) {
  std::deque<MemoryAccount> memories;
  std::deque<ValueComparison> sides;  // which are not moved
  for (const int side : {0, 1}) {
    std::mt19937_64 random(values.seed);
    Candidates matched;
    std::vector<uint64_t> digests;
    for (size_t row = 0; row < values.rows; row++) {
      const uint64_t key = random(), value = random() % 3;
      if ((row + static_cast<size_t>(side)) % 10 == 0) digests.push_back(random.max());
      const auto ordinal = static_cast<uint32_t>(digests.size());
      const bool other = side == 1 && values.changed[row];
      matched.push_back({{Mix64(key), Mix64(key + 1)}, ordinal});
      digests.push_back(value + (other ? 1 : 0));
    }
    MatchingOptions options;
    options.salt = kValuesSalt + values.seed;
    options.is_client = side == 0;
    options.planner.most_round_trips = values.most_round_trips;
    memories.emplace_back(values.memory_bytes);
    options.memory = &memories.back();
    sides.emplace_back(std::move(matched), std::move(digests), options, values.differ);
  }
  ValuesOutcome outcome;
  constexpr int kMostTurns = 200;
  for (int turn = 0; turn < kMostTurns && outcome.status.ok(); turn++) {
    const size_t from = sides[0].state() == ValuesState::kMyTurn ? 0 : 1;
    if (sides[from].state() != ValuesState::kMyTurn) break;
    std::string step, sent;
    outcome.status = sides[from].NextStep(&step);
    if (!outcome.status.ok() || sides[from].state() != ValuesState::kTheirTurn) break;
    VisitParts(step, [&](Part part, std::string_view body) {
      std::string changed(body);
      if (values.tamper) values.tamper(outcome.parts, part, &changed);
      AppendPart(part, changed, &sent);
      outcome.parts++;
    });
    outcome.bytes += sent.size();
    outcome.turns++;
    EXPECT_EQ(sides[1 - from].state(), ValuesState::kTheirTurn);
    outcome.status = sides[1 - from].Receive(sent);
  }
  outcome.client = sides[0].state();
  outcome.server_said_sum = sides[1].said_sum();
  if (!outcome.status.ok() || outcome.client != ValuesState::kCompared) return outcome;
  // From ordinals back to numbers of rows.
  const auto numbers = [&](size_t side, const Candidates& rows) {
    RowNumbers all;
    uint32_t ordinal = 0;
    for (size_t row = 0; row < values.rows; row++) {
      if ((row + side) % 10 == 0) ordinal++;
      all.push_back(ordinal++);
    }
    RowNumbers found;
    for (const Candidate& row : rows) {
      const auto at = std::lower_bound(all.begin(), all.end(), row.ordinal);
      EXPECT_TRUE(at != all.end() && *at == row.ordinal);
      found.push_back(static_cast<uint32_t>(at - all.begin()));
    }
    return found;
  };
  outcome.client_changed = numbers(0, sides[0].TakeChanged());
  outcome.server_changed = numbers(1, sides[1].TakeChanged());
  outcome.client_equal = numbers(0, sides[0].TakeEqual());
  outcome.server_equal = numbers(1, sides[1].TakeEqual());
  return outcome;
}

void ExpectRight(const ValuesCase& values, const ValuesOutcome& outcome) {
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  ASSERT_EQ(outcome.client, ValuesState::kCompared);
  EXPECT_TRUE(outcome.server_said_sum);
  RowNumbers equal, changed;
  for (size_t row = 0; row < values.rows; row++) {
    (values.changed[row] ? changed : equal).push_back(static_cast<uint32_t>(row));
  }
  EXPECT_EQ(outcome.client_changed, changed);
  EXPECT_EQ(outcome.server_changed, changed);
  EXPECT_EQ(outcome.client_equal, equal);
  EXPECT_EQ(outcome.server_equal, equal);
}

ValuesCase RandomValues(size_t rows, size_t changed, uint64_t seed) {
  ValuesCase values;
  values.rows = rows;
  values.seed = seed;
  values.changed.resize(rows);
  for (size_t i = 0; i < changed; i++) values.changed[i] = true;
  std::mt19937_64 random(seed);
  std::shuffle(values.changed.begin(), values.changed.end(), random);
  return values;
}

TEST(ValueComparison, EverySizeAndNumberOfChangedRows) {
  uint64_t seed = 0;
  for (const size_t rows : {0u, 1u, 2u, 3u, 10u, 256u, 257u, 1000u, 20000u}) {
    for (const size_t changed : {size_t{0}, size_t{1}, size_t{2}, rows / 1000, rows / 100,
                                 rows / 10, rows / 3, rows / 2, rows - rows / 10, rows}) {
      for (const bool differ : {false, true}) {
        if (changed > rows) continue;
        ValuesCase values = RandomValues(rows, changed, ++seed);
        values.differ = differ;
        values.most_round_trips = seed % 2 == 0 ? 4 : 1;
        SCOPED_TRACE(testing::Message() << rows << " rows, " << changed << " changed, " << seed);
        ExpectRight(values, CompareValues(values));
      }
    }
  }
}

TEST(ValueComparison, ChangedRowsSideBySideAndAtEqualDistances) {
  ValuesCase together = RandomValues(50000, 0, 1), regular = RandomValues(50000, 0, 2);
  for (size_t row = 0; row < 500; row++) {
    together.changed[row + 777] = true;
    regular.changed[row * 100] = true;
  }
  ExpectRight(together, CompareValues(together));
  ExpectRight(regular, CompareValues(regular));
}

// A change has one bit of many in common with what it replaces, and is found all the same.
TEST(ValueComparison, ManySeeds) {
  for (uint64_t seed = 0; seed < 300; seed++) {
    const ValuesCase values = RandomValues(300 + seed * 7, seed % 40, seed);
    SCOPED_TRACE(testing::Message() << seed);
    ExpectRight(values, CompareValues(values));
  }
}

// Of a million rows, bytes for each that is changed.
TEST(ValueComparison, BytesOfAChangedRow) {
  const struct {
    size_t changed;
    double most_bytes;
  } kCases[] = {{100, 15}, {1000, 5.5}, {10000, 3.3}, {100000, 2.2}};
  for (const auto& [changed, most_bytes] : kCases) {
    ValuesCase values = RandomValues(1000000, changed, changed);
    values.differ = true;
    const ValuesOutcome outcome = CompareValues(values);
    ExpectRight(values, outcome);
    const double bytes = static_cast<double>(outcome.bytes) / static_cast<double>(changed);
    EXPECT_LE(bytes, most_bytes) << changed;
    EXPECT_LE(outcome.turns, 25u);
  }
}

// Whatever becomes of the bytes on their way, no row is said to be equal that is not, and the other
// way round.
TEST(ValueComparison, DamageIsSeen) {
  std::mt19937_64 random(5);
  int right = 0, contradicted = 0, refused = 0;
  for (int round = 0; round < 2000; round++) {
    ValuesCase values = RandomValues(1000, random() % 100, random());
    values.differ = random() % 2 == 0;
    const uint64_t number = random() % 12, bit = random();
    values.tamper = [&](uint64_t part, Part, std::string* body) {
      if (part != number || body->empty()) return;
      (*body)[bit / 8 % body->size()] ^= static_cast<char>(1 << bit % 8);
    };
    const ValuesOutcome outcome = CompareValues(values);
    if (!outcome.status.ok()) {
      refused++;
      EXPECT_TRUE(absl::IsInvalidArgument(outcome.status)) << outcome.status;
    } else if (outcome.client == ValuesState::kCompared) {
      right++;
      ExpectRight(values, outcome);
    } else {
      contradicted++;
    }
  }
  EXPECT_GT(right, 0);
  EXPECT_GT(refused, 0);
}

TEST(ValueComparison, StaysWithinItsMemory) {
  ValuesCase values = RandomValues(10000, 1000, 9);
  values.memory_bytes = 10000 * 100;
  const ValuesOutcome outcome = CompareValues(values);
  if (outcome.status.ok()) ExpectRight(values, outcome);
  values.memory_bytes = 10000 * 30;
  EXPECT_TRUE(absl::IsResourceExhausted(CompareValues(values).status));
}

}  // namespace

// Joins on expressions, with duplicates and NULL keys, against the two loops that SQL's EXISTS and
// NOT EXISTS stand for.

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
