// SPDX-License-Identifier: Apache-2.0
// Both sides of a join, over a pipe, against what sets and SQL say; and what the planner chooses.
#include <cmath>

#include "lib/join/join_key/join_key_expression.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/matching/cost_model.h"
#include "lib/join/matching/planner.h"
#include "lib/sketch/pinsketch/positions.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

// Whatever computing is worth, results are exact; the dearer it is, the more is sent.
TEST(Join, IsExactForLinksOfAllRates) {
  for (const size_t common : {0u, 2000u, 4000u, 4980u}) {
    const auto [here, there] = RandomSides(5000, 5000, common, common + 1);
    uint64_t first_bytes = 0, last_bytes = 0;
    for (const double price : {0.0001, 0.001, 0.01, 0.1, 1., 10., 100.}) {
      Settings settings(Strategy::kAuto, 6000, 20000);
      settings.client.planner.weights.bits_per_cpu_ns = price;
      ExpectExact(Operation::kSymmetric, here, there, settings);
      const Piped piped = Join(Operation::kCount, here, there, settings).piped;
      last_bytes = piped.to_client + piped.to_server;
      if (first_bytes == 0) first_bytes = last_bytes;
    }
    // In the end only computing counts: where a few symbols do not do it, more is sent.
    EXPECT_GE(last_bytes + 10, first_bytes);
    if (common == 4000) {
      EXPECT_GT(last_bytes, 2 * first_bytes);
    } else if (common == 2000) {
      EXPECT_GT(last_bytes, 1.8 * first_bytes);  // a filter before the list is quicker
    }
  }
}

TEST(Join, IsExactAtAllSizesAndOverlaps) {
  for (Operation operation : kAllOperations) {
    for (const auto& [client, server] :
         std::initializer_list<std::pair<size_t, size_t>>{{0, 0},
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
            static_cast<size_t>(overlap * static_cast<double>(std::min(client, server)));
        SCOPED_TRACE(testing::Message() << client << " x " << server << ", common " << common);
        const auto [here, there] = RandomSides(client, server, common, 7 + common);
        ExpectExact(operation, here, there);
      }
    }
  }
}

TEST(Join, IsExactWithEveryStrategyForced) {
  const auto [here, there] = RandomSides(2500, 2500, 1200, 3);
  for (Strategy strategy : kAllStrategies) {
    SCOPED_TRACE(NameOf(strategy));
    for (int most_round_trips : {1, 2, 4}) {
      Settings settings(strategy);
      settings.client.planner.most_round_trips = most_round_trips;
      for (Operation operation : kAllOperations) ExpectExact(operation, here, there, settings);
    }
  }
}

TEST(Join, RefusesToTakeMoreThanItMay) {
  const auto [here, there] = RandomSides(20000, 20000, 10000, 4);
  Settings settings(Strategy::kAuto, 1 << 20, 1 << 20);
  settings.client.most_bytes = 10000;
  const Joined refused = Join(Operation::kIntersection, here, there, settings);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.piped.status)) << refused.piped.status;
  EXPECT_TRUE(refused.result.empty());
  EXPECT_LT(refused.piped.to_client + refused.piped.to_server, 15000u);
  settings.client.most_bytes = 60000;
  ExpectExact(Operation::kIntersection, here, there, settings);
}

// Counts what all scans read.
class CountedSource final : public Source {
 public:
  explicit CountedSource(const Table& rows) : source_(rows) {}
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    class CountedCursor final : public Cursor {
     public:
      CountedCursor(std::unique_ptr<Cursor> cursor, uint64_t* rows_read)
          : cursor_(std::move(cursor)), rows_read_(rows_read) {}
      bool Next(Row* row) override { return cursor_->Next(row) && ++*rows_read_ != 0; }
      absl::Status status() const override { return cursor_->status(); }

     private:
      const std::unique_ptr<Cursor> cursor_;
      uint64_t* const rows_read_;
    };
    return std::make_unique<CountedCursor>(source_.Scan(interval), &rows_read);
  }
  uint64_t EstimateKeys() override { return source_.EstimateKeys(); }
  uint64_t rows_read = 0;

 private:
  MemorySource source_;
};

TEST(Join, EqualRowsAreReadOnceIfNoneAreWanted) {
  const auto [mine, theirs] = RandomSides(5000, 5000, 5000, 5);
  for (Operation operation : kAllOperations) {
    CountedSource here(mine), there(theirs);
    const Joined joined =
        JoinSources(operation, &here, &there, Settings(Strategy::kAuto, 1 << 20, 1 << 20));
    ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
    ASSERT_EQ(joined.statistics.equal_ranges, 1u);
    const uint64_t times = SendsMatched(operation) ? 2 : 1;
    EXPECT_EQ(here.rows_read, times * mine.size()) << NameOf(operation);
    EXPECT_EQ(there.rows_read, times * theirs.size()) << NameOf(operation);
  }
}

TEST(Join, FewBytesPerKey) {
  for (const auto& [overlap, most_bits] :
       {std::pair<double, double>{0.0, 3.5}, {0.1, 5.0}, {0.5, 7.0}, {0.9, 3.8}, {0.98, 1.05}}) {
    constexpr size_t kKeys = 100000;
    const auto [here, there] = RandomSides(kKeys, kKeys, static_cast<size_t>(overlap * kKeys), 11);
    const Joined joined =
        Join(Operation::kCount, here, there, Settings(Strategy::kAuto, 1 << 20, 1 << 20));
    ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
    const double bits =
        8.0 * static_cast<double>(joined.piped.to_client + joined.piped.to_server) / kKeys;
    EXPECT_LE(bits, most_bits) << overlap;
    EXPECT_LE(joined.statistics.most_range_round_trips, 6u) << overlap;
  }
}

// Joins on expressions, with duplicates and NULL keys, against the two loops that SQL's EXISTS and
// NOT EXISTS stand for.

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

using Form = UnpackingResultSink::Form;

Joined RunJoin(Operation operation, Source* here, Source* there, bool here_packed,
               bool there_packed) {
  Collector collector;
  UnpackingResultSink sink(&collector, here_packed ? Form::kPacked : Form::kRow,
                           there_packed ? Form::kPacked : Form::kRow);
  return JoinSources(operation, here, there, Settings(Strategy::kAuto, 60), &collector, &sink);
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
    if (SendsMatched(operation) || SendsUnmatched(operation)) {
      AddWhere(SendsMatched(operation), there, theirs, mine, Side::kServer, &expected);
    }
    if (EmitsLocalRows(operation)) AddWhere(false, here, mine, theirs, Side::kClient, &expected);
    std::sort(expected.begin(), expected.end());
    const Joined outcome =
        RunJoin(operation, left.get(), right.get(), left_on != "key", right_on != "key");
    ASSERT_TRUE(outcome.piped.status.ok()) << outcome.piped.status;
    EXPECT_TRUE(outcome.sorted == expected)
        << outcome.sorted.size() << " rows, expected are " << expected.size();
    std::set<std::optional<std::string>> distinct_mine(mine.begin(), mine.end());
    std::set<std::optional<std::string>> distinct_theirs(theirs.begin(), theirs.end());
    distinct_mine.erase(std::nullopt);
    distinct_theirs.erase(std::nullopt);
    ExpectCounts(outcome.statistics, distinct_mine, distinct_theirs);
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
      const Joined failed = RunJoin(operation, &here, &always, false, false);
      EXPECT_TRUE(absl::IsDataLoss(failed.piped.status)) << failed.piped.status;
      EXPECT_TRUE(failed.result.empty());
      Fickle once({good, lie, good});
      const Joined repeated = RunJoin(operation, &here, &once, false, false);
      EXPECT_TRUE(repeated.piped.status.ok()) << repeated.piped.status;
      EXPECT_EQ(repeated.sorted, (Result{{"", "a", Side::kServer}, {"", "b", Side::kServer}}));
      EXPECT_EQ(repeated.statistics.repeated_ranges, 1u);
    }
  }
}

// All ranges are proven then; these rows are not there yet.
TEST(JoinOnExpression, AServerThatFailsAmongRowsWithoutAKeyHasNotGivenAll) {
  const std::unique_ptr<Source> there = SourceOf({{"1", "a|b"}, {"2", "none"}}, "value.field(|,2)");
  MemorySource here(Table{{"b", ""}});
  Settings settings;
  settings.tamper = [](uint64_t, bool to_client, std::string* message) {
    const absl::StatusOr<Message> decoded = Decode(*message);
    const Rows* const rows = decoded.ok() ? std::get_if<Rows>(&*decoded) : nullptr;
    if (to_client && rows != nullptr && rows->range == kAbsentRange) {
      *message = Encode(Failure{absl::UnavailableError("I must go")});
    }
    return true;
  };
  const Joined joined = JoinSources(Operation::kDifference, &here, there.get(), settings);
  EXPECT_TRUE(absl::IsUnavailable(joined.piped.status)) << joined.piped.status;
  EXPECT_TRUE(joined.uncommitted);
  EXPECT_TRUE(joined.result.empty());
}

TEST(JoinOnExpression, LeavesOwnAbsentRowsToTheCallerIfToldSo) {
  const std::unique_ptr<Source> here = SourceOf({{"1", "a|b"}, {"2", "none"}}, "value.field(|,2)");
  MemorySource there({});
  Collector collector;
  Settings settings;
  settings.client.own_absent_rows = false;
  UnpackingResultSink sink(&collector, Form::kPacked, Form::kRow);
  EXPECT_EQ(
      JoinSources(Operation::kLocalOnly, here.get(), &there, settings, &collector, &sink).result,
      (Result{{"1", "a|b", Side::kClient}}));
  uint64_t rows = 0;
  EXPECT_TRUE(EmitAbsentRows(here.get(), &sink, &rows).ok() && sink.Commit().ok());
  EXPECT_EQ(rows, 1u);
  EXPECT_EQ(collector.result().back(), (Result::value_type{"2", "none", Side::kClient}));
}

TEST(JoinOnExpression, SaysThatRowsAreNotPacked) {
  MemorySource here({}), there({{"a", std::string("\xff\xff")}});
  const absl::Status status =
      RunJoin(Operation::kDifference, &here, &there, false, true).piped.status;
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

constexpr double kOverlaps[] = {0, 0.5, 0.8, 0.9, 0.98, 0.999};

// Two sides of as many keys, with the error that an estimator of 512 counters leaves.
RangeEstimate Sides(double keys, double overlap) {
  const double differences = 2 * keys * (1 - overlap);
  return {keys, keys, keys * overlap, differences * std::sqrt(2.0 / 512) / 2};
}

// With prices that do not depend on this machine.
PlannedStep PlanAt(double bits_per_cpu_ns, const RangeEstimate& estimate) {
  PlannerOptions options;
  options.weights = WeightsForPrice(bits_per_cpu_ns, Isa::kAvx512);
  return CheapestStep(estimate, {/*is_client=*/true, /*turns_left=*/8}, /*begun=*/{}, options);
}

TEST(Planner, ChoosesByWhatComputingIsWorth) {
  const double bytes_alone = PlannerOptions().weights.bits_per_cpu_ns;
  const double link = PriceOfLink(/*bytes_per_second=*/12.5e6, /*threads=*/2);
  const struct {
    double price, keys, overlap;
    bool filter, sketch;
    double least_bits_per_key, most_bits_per_key;
  } kPlans[] = {
      // Where bytes are what counts. A filter before a sketch lets it do without half of the
      // differences, and without a margin for an estimate; where few keys differ it costs more.
      {bytes_alone, 1e6, 0, true, false, 0, 3.3},
      {bytes_alone, 1e6, 0.8, true, false, 0, 9},
      {bytes_alone, 1e6, 0.86, true, false, 0, 9},
      {bytes_alone, 1e6, 0.9, false, true, 0, 9},
      {bytes_alone, 1e6, 0.95, false, true, 0, 9},
      {bytes_alone, 1e6, 0.98, false, true, 0, 1},
      // Filters go both ways at once on a link that carries both: a sketch, which saves half of the
      // bits and takes twice the time, is not quicker; symbols alone are one direction's burden.
      {link, 125'000, 0.9, true, false, 7, 99},
      {link, 125'000, 0.98, true, false, 0, 5}};
  for (const auto& plan : kPlans) {
    const PlannedStep step = PlanAt(plan.price, Sides(plan.keys, plan.overlap));
    SCOPED_TRACE(testing::Message() << plan.price << ", " << plan.overlap);
    EXPECT_EQ(step.filter_width > 0, plan.filter);
    if (plan.sketch || plan.price == link) {
      EXPECT_EQ(step.ending == Part::kSketch, plan.sketch);
    }
    EXPECT_GT(step.bits(), plan.least_bits_per_key * plan.keys);
    EXPECT_LT(step.bits(), plan.most_bits_per_key * plan.keys);
  }
}

// What computing is worth more never has less sent.
TEST(Planner, SendsMoreOnFasterLinks) {
  for (const double keys : {3000., 125'000., 1e6}) {
    for (const double overlap : kOverlaps) {
      double last_bits = 0;
      for (double price = 0.0001; price < 20; price *= 4) {
        const double bits = PlanAt(price, Sides(keys, overlap)).bits();
        EXPECT_GT(bits, 0.97 * last_bits) << keys << " keys, " << overlap << ", " << price;
        last_bits = bits;
      }
    }
  }
}

// What the planner takes for the size of a sketch is what it is.
TEST(Planner, KnowsTheSizeOfSketches) {
  for (double differences = 300; differences < 1e6; differences *= 1.37) {
    for (double keys = differences; keys < 300 * differences; keys *= 1.61) {
      for (const int cells_log2 : {3, 5, 9}) {
        const std::optional<double> bits = SketchBits(keys, differences, cells_log2);
        if (!bits) continue;
        const pinsketch::Plan plan = pinsketch::MakePlan(keys, differences, cells_log2);
        const double right = 8 * static_cast<double>(plan.SketchBytes());
        EXPECT_NEAR(*bits, right, 0.05 * right)
            << keys << " keys, " << differences << " differences, 2^" << cells_log2 << " cells";
      }
    }
  }
}

TEST(Planner, ShipsKeysThatAreShort) {
  PlannerOptions options;
  options.keys.each = 2;
  options.keys.each_sparse = 6;
  options.keys.front_coded = 8;
  options.keys.all_keys = 1e5;
  for (const double price : {0.0001, 0.01}) {
    options.weights.bits_per_cpu_ns = price;
    const PlannedStep step = CheapestStep(Sides(1e5, 0.5), {/*is_client=*/true, /*turns_left=*/8},
                                          /*begun=*/{}, options);
    EXPECT_EQ(step.ending, Part::kKeys) << price;
  }
}

}  // namespace
}  // namespace rocksieve::join
