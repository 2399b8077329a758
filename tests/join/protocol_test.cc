// SPDX-License-Identifier: Apache-2.0
// The examples of docs/protocol.md: its lines "name: `bytes`" are what Encode() writes.
#include <deque>
#include <fstream>
#include <map>
#include <sstream>

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/matching/value_comparison.h"
#include "lib/join/session/messages.h"
#include "tests/join/matching_support.h"

namespace rocksieve::join {
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
