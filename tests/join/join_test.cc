// SPDX-License-Identifier: Apache-2.0
// Both sides of a join, over a pipe, against what sets say.
#include <cmath>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/matching/cost_model.h"
#include "lib/join/matching/planner.h"
#include "lib/join/matching/value_comparison.h"
#include "lib/join/session/messages.h"
#include "lib/sketch/pinsketch/plan.h"
#include "tests/join/matching_support.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

// Whatever computing is worth, results are exact; the dearer it is, the more is sent.
TEST(Join, IsExactForLinksOfAllRates) {
  for (const size_t common : {0u, 2000u, 4000u, 4980u}) {
    const auto [here, there] = RandomSides(5000, 5000, common, common + 1);
    uint64_t first_bytes = 0, last_bytes = 0;
    for (const double price : {0.0001, 0.001, 0.01, 0.1, 1., 10., 100.}) {
      Settings settings;
      settings.keys_per_range = 6000;
      settings.most_keys_per_range = 20000;
      settings.planner.weights.bits_per_cpu_ns = price;
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
    for (const auto& [client, server] : {std::pair<size_t, size_t>{0, 0},
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
      Settings settings;
      settings.planner.strategy = strategy;
      settings.planner.most_round_trips = most_round_trips;
      for (Operation operation : kAllOperations) ExpectExact(operation, here, there, settings);
    }
  }
}

TEST(Join, RefusesToTakeMoreThanItMay) {
  const auto [here, there] = RandomSides(20000, 20000, 10000, 4);
  Settings settings;
  settings.keys_per_range = settings.most_keys_per_range = 1 << 20;
  settings.most_bytes = 10000;
  const Joined refused = Join(Operation::kIntersection, here, there, settings);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.piped.status)) << refused.piped.status;
  EXPECT_TRUE(refused.result.empty());
  EXPECT_LT(refused.piped.to_client + refused.piped.to_server, 15000u);
  settings.most_bytes = 60000;
  ExpectExact(Operation::kIntersection, here, there, settings);
}

TEST(Join, EqualRowsAreReadOnceIfNoneAreWanted) {
  const auto [here, there] = RandomSides(5000, 5000, 5000, 5);
  Settings settings;
  settings.keys_per_range = settings.most_keys_per_range = 1 << 20;
  for (Operation operation : kAllOperations) {
    const Joined joined = Join(operation, here, there, settings);
    ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
    ASSERT_EQ(joined.statistics.equal_ranges, 1u);
    const uint64_t times = SendsMatched(operation) ? 2 : 1;
    EXPECT_EQ(joined.rows_read_here, times * here.size()) << NameOf(operation);
    EXPECT_EQ(joined.rows_read_there, times * there.size()) << NameOf(operation);
  }
}

TEST(Join, FewBytesPerKey) {
  for (const auto& [overlap, most_bits] :
       {std::pair<double, double>{0.0, 3.5}, {0.1, 5.0}, {0.5, 7.0}, {0.9, 3.8}, {0.98, 1.05}}) {
    constexpr size_t kKeys = 100000;
    const auto [here, there] = RandomSides(kKeys, kKeys, static_cast<size_t>(overlap * kKeys), 11);
    Settings settings;
    settings.keys_per_range = settings.most_keys_per_range = 1 << 20;
    const Joined joined = Join(Operation::kCount, here, there, settings);
    ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
    const double bits =
        8.0 * static_cast<double>(joined.piped.to_client + joined.piped.to_server) / kKeys;
    EXPECT_LE(bits, most_bits) << overlap;
    EXPECT_LE(joined.statistics.most_range_round_trips, 6u) << overlap;
  }
}

}  // namespace

namespace {

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

TEST(Planner, SendsLittleWhereBytesAreWhatCounts) {
  const double least_bits = PlannerOptions().weights.bits_per_cpu_ns;
  const PlannedStep nothing_in_common = PlanAt(least_bits, Sides(1e6, 0));
  EXPECT_GT(nothing_in_common.filter_width, 0);
  EXPECT_LT(nothing_in_common.bits(), 3.3e6);
  const PlannedStep most_in_common = PlanAt(least_bits, Sides(1e6, 0.98));
  EXPECT_EQ(most_in_common.filter_width, 0);
  EXPECT_EQ(most_in_common.ending, Part::kSketch);
  EXPECT_LT(most_in_common.bits(), 1e6);
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

// Filters go both ways at once on a link that carries both: a sketch, which saves half of the bits
// and takes twice the time, is not quicker.
TEST(Planner, FiltersAreForLinksThatAreNotWaitedFor) {
  const PlannedStep step =
      PlanAt(PriceOfLink(/*bytes_per_second=*/12.5e6, /*threads=*/2), Sides(125'000, 0.9));
  EXPECT_GT(step.filter_width, 0);
  EXPECT_NE(step.ending, Part::kSketch);
  EXPECT_GT(step.bits(), 7 * 125'000);
}

// A filter before a sketch lets it do without half of the differences, and without a margin for an
// estimate; where few keys differ it costs more than that.
TEST(Planner, PutsFiltersBeforeSketchesWhereTheySave) {
  const double bytes_alone = PlannerOptions().weights.bits_per_cpu_ns;
  for (const double overlap : {0.8, 0.84, 0.86}) {
    EXPECT_GT(PlanAt(bytes_alone, Sides(1e6, overlap)).filter_width, 0) << overlap;
  }
  for (const double overlap : {0.9, 0.91, 0.92, 0.95, 0.99}) {
    const PlannedStep step = PlanAt(bytes_alone, Sides(1e6, overlap));
    EXPECT_EQ(step.filter_width, 0) << overlap;
    EXPECT_EQ(step.ending, Part::kSketch) << overlap;
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

// Kernels make parts of a join cheaper; where bytes alone count, plans do not depend on them.
// A filter and symbols are cheapest at no price there, but the quickest: symbols alone are one
// direction's burden, and one side's.
TEST(Planner, BalancesDirectionsAndSides) {
  const PlannedStep step =
      PlanAt(PriceOfLink(/*bytes_per_second=*/12.5e6, /*threads=*/2), Sides(125'000, 0.98));
  EXPECT_GT(step.filter_width, 0);
  EXPECT_LT(step.bits(), 5 * 125'000);
}

// Whatever computing is worth. Lists are the shortest way there is.
TEST(Planner, TakesNoMoreTurnsThanThereMayBe) {
  for (const bool is_client : {false, true}) {
    const int list_turns = is_client ? 2 : 3;
    for (int turns_left = list_turns; turns_left <= 8; turns_left++) {
      for (const double overlap : kOverlaps) {
        for (double price = 0.0001; price < 20; price *= 4) {
          PlannerOptions options;
          options.weights = WeightsForPrice(price, Isa::kAvx512);
          const PlannedStep step = CheapestStep(Sides(125'000, overlap), {is_client, turns_left},
                                                /*begun=*/{}, options);
          EXPECT_LE(step.turns, turns_left) << overlap << ", " << price;
        }
      }
    }
  }
}

TEST(Planner, HasPricesOfEachInstructionSet) {
  const PartPrices& plain = PricesOf(Isa::kPortable);
  for (const Isa isa : {Isa::kSse2, Isa::kAvx2, Isa::kAvx512, Isa::kNeon}) {
    const PartPrices& prices = PricesOf(isa);
    EXPECT_LE(prices.filter_query_ns, plain.filter_query_ns) << IsaName(isa);
    EXPECT_LE(prices.symbols_send_ns, plain.symbols_send_ns) << IsaName(isa);
    EXPECT_EQ(WeightsForPrice(0.5, isa).prices.symbols_send_ns, prices.symbols_send_ns);
  }
  EXPECT_EQ(CostWeights().prices.symbols_send_ns, PricesOf(Isa::kAvx512).symbols_send_ns);
  EXPECT_EQ(WeightsForPrice(0.5).prices.filter_query_ns, PricesOf(ActiveIsa()).filter_query_ns);
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

// The examples of docs/protocol.md: its lines "name: `bytes`" are what Encode() writes.

namespace {

std::string Hex(const std::string& bytes) { return absl::BytesToHexString(bytes); }

// Each is one message of a session.
std::map<std::string, std::string> Messages() {
  const SetSum sum = {2, 0x0123456789abcdef, 0xfedcba9876543210};
  Open open;
  open.range = 3;
  open.attempt = 1;
  open.interval = {"a", "c"};
  open.sum = sum;
  open.estimator = std::string("\x01\x03\x02", 3);
  Facts facts;
  facts.range = 3;
  facts.attempt = 1;
  facts.sum = sum;
  facts.common = 1;
  std::map<std::string, std::string> messages;
  Hello hello;
  hello.operation = Operation::kDifference;
  hello.salt = 0x1122334455667788;
  hello.keys = 300;
  HelloAnswer answer;
  answer.keys = 500;
  answer.hash_check = HashCheck(hello.salt);
  answer.most_keys_per_range = 1 << 20;
  messages["hello"] = Encode(hello);
  hello.operation = Operation::kSymmetric;
  hello.comparison = Comparison::kKeys;
  messages["hello, comparison"] = Encode(hello);
  messages["hello answer"] = Encode(answer);
  messages["open"] = Encode(open);
  open.server_begins = false;
  open.estimator.clear();
  open.row_sum = SetSum{2, 2, 1};
  messages["open, comparison"] = Encode(open);
  messages["facts"] = Encode(facts);
  messages["fetch"] = Encode(Fetch{3, 1});
  messages["rows"] = Encode(Rows{3, 1, true, "batch"});
  messages["goodbye"] = Encode(Goodbye{});
  Filters filters;
  filters.state = Filters::State::kLast;
  AppendExistingFilter({"ant", "bee", FilterFormat::kRocksDbBuiltin, "\1\2"}, &filters.piece);
  messages["filters"] = Encode(filters);
  messages["failure"] = Encode(Failure{absl::AbortedError("no")});
  return messages;
}

// The steps of a small range, reconciled by each of some strategies.
std::map<std::string, std::string> Steps() {
  std::map<std::string, std::string> steps;
  for (const Strategy strategy : {Strategy::kList, Strategy::kSymbols, Strategy::kRibbon}) {
    MatchingCase matching;
    matching.client = {"apple", "fig", "pear"};
    matching.server = {"fig", "kiwi", "pear"};
    matching.strategy = strategy;
    matching.client_begins = true;
    matching.common_estimate = 2;
    const std::string name(NameOf(strategy));
    matching.tamper = [&steps, &name](uint64_t number, Part part, std::string* body) {
      std::string bytes;
      AppendPart(part, *body, &bytes);
      steps[absl::StrCat(name, " ", number + 1)] = bytes;
    };
    const MatchingOutcome outcome = Match(matching);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_TRUE(outcome.client == (Keys{"fig", "pear"}));
  }
  return steps;
}

// The parts with which the values of a small range are compared.
std::map<std::string, std::string> Values() {
  constexpr uint64_t kRangeSalt = 99;
  std::map<std::string, std::string> parts;
  std::deque<ValueComparison> sides;
  for (const bool is_client : {true, false}) {
    Candidates matched;
    for (const char* key : {"apple", "fig", "pear"}) {
      matched.push_back({HashKey128(key, kRangeSalt), static_cast<uint32_t>(matched.size())});
    }
    MatchingOptions options;
    options.salt = kRangeSalt;
    options.is_client = is_client;
    sides.emplace_back(matched, std::vector<uint64_t>{1, is_client ? 2u : 5u, 3}, options,
                       /*differ=*/false);
  }
  for (size_t from = 1; sides[from].state() == ValueComparison::State::kMyTurn; from = 1 - from) {
    std::string step;
    EXPECT_TRUE(sides[from].NextStep(&step).ok());
    VisitParts(step, [&parts](Part part, std::string_view body) {
      std::string bytes;
      AppendPart(part, body, &bytes);
      parts[absl::StrCat("values ", parts.size() + 1)] = bytes;
    });
    EXPECT_TRUE(sides[1 - from].Receive(step).ok());
  }
  EXPECT_EQ(sides[0].state(), ValueComparison::State::kCompared);
  EXPECT_EQ(sides[0].TakeChanged().size(), 1u);
  return parts;
}

// The price of a link stands behind the comparison, which is 0 then if there is none.
TEST(Protocol, AHelloSaysWhatComputingIsWorth) {
  for (const Comparison comparison : {Comparison::kNone, Comparison::kRows}) {
    for (const uint64_t price : {uint64_t{0}, uint64_t{1}, uint64_t{1'000'000'000}}) {
      Hello hello;
      hello.operation = Operation::kSymmetric;
      hello.comparison = comparison;
      hello.bits_per_cpu_ms = price;
      const absl::StatusOr<Message> decoded = Decode(Encode(hello));
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      EXPECT_EQ(std::get<Hello>(*decoded).bits_per_cpu_ms, price);
      EXPECT_EQ(std::get<Hello>(*decoded).comparison, comparison);
    }
  }
  Hello dear;
  dear.bits_per_cpu_ms = 1'000'000'001;
  EXPECT_FALSE(Decode(Encode(dear)).ok());
}

TEST(Protocol, PageHasTheExamples) {
  std::ifstream file(ROCKSIEVE_PROTOCOL_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  ASSERT_TRUE(file.good());
  for (const auto& examples : {Messages(), Steps(), Values()}) {
    for (const auto& [name, bytes] : examples) {
      const std::string line = "| " + name + " | `" + Hex(bytes) + "` |";
      EXPECT_NE(page.str().find(line), std::string::npos) << line;
    }
  }
}

TEST(Protocol, MessagesReadBack) {
  for (const auto& [name, bytes] : Messages()) {
    const absl::StatusOr<Message> message = Decode(bytes);
    ASSERT_TRUE(message.ok()) << name;
    EXPECT_EQ(Hex(Encode(*message)), Hex(bytes)) << name;
    for (size_t i = 0; i < bytes.size(); i++) {
      std::string changed = bytes;
      changed[i] ^= 1;
      EXPECT_FALSE(Decode(changed).ok()) << name << ", byte " << i;
    }
  }
}

}  // namespace

}  // namespace rocksieve::join
