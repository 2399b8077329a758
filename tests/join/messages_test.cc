// SPDX-License-Identifier: Apache-2.0
// The messages of sessions: their bytes, as docs/protocol.md has them, and what a broken or hostile
// other side, or wire, can do with them: the result is right, or there is none.
#include <fstream>
#include <map>
#include <sstream>

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include "lib/format/bit_coder.h"
#include "lib/join/existing/existing_filters.h"
#include "lib/join/matching/value_comparison.h"
#include "lib/join/rows/row_batch.h"
#include "tests/join/support.h"

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
  EXPECT_EQ(sides[0].state(), ValueComparison::State::kReconciled);
  EXPECT_EQ(sides[0].TakeChanged().size(), 1u);
  return parts;
}

// The price of a link stands behind the comparison, which is 0 then if there is none.
TEST(Protocol, AHelloSaysWhatComputingIsWorth) {
  Hello hello;
  hello.operation = Operation::kSymmetric;
  for (const Comparison comparison : {Comparison::kNone, Comparison::kRows}) {
    hello.comparison = comparison;
    for (const uint64_t price : {0, 1, 1'000'000'000, 1'000'000'001}) {
      hello.bits_per_cpu_ms = price;
      const absl::StatusOr<Message> decoded = Decode(Encode(hello));
      ASSERT_EQ(decoded.ok(), price <= 1'000'000'000) << decoded.status();
      if (decoded.ok()) {
        EXPECT_EQ(std::get<Hello>(*decoded).bits_per_cpu_ms, price);
        EXPECT_EQ(std::get<Hello>(*decoded).comparison, hello.comparison);
      }
    }
  }
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

ExistingFilter FencesAlone(std::string smallest, std::string largest) {
  return {std::move(smallest), std::move(largest), FilterFormat::kNone, ""};
}

// As in docs/protocol.md.
TEST(ExistingFilterStream, TestVector) {
  std::string bytes;
  AppendExistingFilter({"ant", "bee", FilterFormat::kRocksDbBuiltin, "\1\2"}, &bytes);
  EXPECT_EQ(bytes, std::string("\x0b\x02\x03"
                               "ant"
                               "\x03"
                               "bee"
                               "\x01\x02"));
  ExistingFilterSet set;
  ASSERT_TRUE(set.Add({"ant", "bee", FilterFormat::kRocksDbBuiltin, "\1\2"}));
  EXPECT_EQ(set.DigestOf(1), 0x91526733542f8621u);
}

TEST(ExistingFilterStream, RefusesWhatItCannotHoldOrRead) {
  const auto add = [](const std::string& bytes, uint64_t most_bytes) {
    ExistingFilterSet set;
    MemoryHold memory;
    return ExistingFilterAssembler(&set, most_bytes, &memory).Add(bytes);
  };
  std::string two;
  AppendExistingFilter(FencesAlone("b", "c"), &two);
  EXPECT_TRUE(add(two, 10000).ok());
  AppendExistingFilter(FencesAlone("a", "c"), &two);
  EXPECT_TRUE(absl::IsInvalidArgument(add(two, 10000))) << "falls";
  std::string backwards;
  AppendExistingFilter(FencesAlone("c", "b"), &backwards);
  EXPECT_TRUE(absl::IsInvalidArgument(add(backwards, 10000)));
  EXPECT_TRUE(absl::IsInvalidArgument(add(std::string(20, '\xff'), 10000)));
  EXPECT_TRUE(absl::IsInvalidArgument(add(std::string("\x03\x01\x7f"
                                                      "a"),
                                          10000)));
  EXPECT_TRUE(absl::IsResourceExhausted(add("\xff\xff\xff\xff\x7f", 10000)));
  // Many small ones take memory too.
  std::string many;
  for (int i = 0; i < 1000; i++) AppendExistingFilter(FencesAlone("", ""), &many);
  EXPECT_TRUE(absl::IsResourceExhausted(add(many, 10000)));
}

void ExpectRightOrError(Operation operation, const Table& here, const Table& there,
                        const Settings& settings) {
  const Joined joined = Join(operation, here, there, settings);
  const Result expected = Expected(operation, here, there);
  EXPECT_EQ(joined.piped.status.ok(), joined.piped.status.message().empty());
  if (joined.piped.status.ok()) {
    EXPECT_TRUE(joined.sorted == expected);
  } else {
    ExpectNoWrongRow(joined, expected);
  }
}

TEST(JoinFaults, AnyFlippedBitIsFoundOrHarmless) {
  const auto [here, there] = RandomSides(300, 330, 150, 5);
  std::mt19937_64 random(17);
  for (Strategy strategy : kAllStrategies) {
    for (Operation operation : kAllOperations) {
      Settings settings(strategy);
      const uint64_t messages = Join(operation, here, there, settings).piped.messages;
      for (uint64_t i = 0; i < 6 * messages; i++) {
        settings.tamper = FlipBit(i / 6, random());
        SCOPED_TRACE(testing::Message() << NameOf(operation) << ", message " << i / 6);
        ExpectRightOrError(operation, here, there, settings);
      }
    }
  }
}

TEST(JoinFaults, AnyMessageMayBeTheLast) {
  const auto [here, there] = RandomSides(2500, 2500, 1000, 6);
  for (Operation operation : kAllOperations) {
    const uint64_t messages = Join(operation, here, there).piped.messages;
    Settings settings;
    for (uint64_t number = 0; number < messages; number++) {
      settings.tamper = StopAt(number);
      ExpectNoWrongRow(Join(operation, here, there, settings), Expected(operation, here, there));
    }
  }
}

// Servers that contradict themselves or exaggerate in all that they say, and wires that do it for
// them.
TEST(JoinFaults, LiesAreFound) {
  const auto facts = [](std::function<void(Facts*)> change) {
    return ChangeKind<Facts>(std::move(change));
  };
  const struct {
    const char* words;
    Tamper tamper;
  } kLies[] = {
      {"speaks version 9 of the join protocol",
       ChangeKind<HelloAnswer>([](auto* m) { m->version = 9; })},
      {"computes other hashes", ChangeKind<Hello>([](auto* m) { m->salt++; })},
      {"range", facts([](auto* m) { m->sum.count = 0; })},
      {"range", facts([](auto* m) { m->sum.count = 1; })},
      {"range", facts([](auto* m) { m->sum.count = 100'000; })},
      {"are allowed", facts([](auto* m) { m->sum.count = uint64_t{1} << 60; })},
      {"range", facts([](auto* m) { m->sum.low ^= 1; })},
      {"not open", facts([](auto* m) { m->range += 100; })},
      {"different ranges for equal", facts([](auto* m) { m->outcome = Facts::Outcome::kEqual; })},
      {"range", facts([](auto* m) {
         m->outcome = Facts::Outcome::kTooLarge;
         m->next_key = "zzz";
       })},
      {"", ChangeKind<Step>([](auto* m) { m->message.resize(m->message.size() / 2); })},
      {"", ChangeKind<Step>([](auto* m) { m->message.append(3, '\x7f'); })},
      {"disagree about a range after 3 attempts", ChangeParts([](Part part, std::string* body) {
         if (part == Part::kSum) body->back() ^= 1;
       })},
      // Of the rows that are wanted none come, in no batch.
      {"disagree about a range after 3 attempts", ChangeKind<Rows>([](auto* m) {
         m->batch.clear();
         RowBatchWriter(true).TakeBatch(&m->batch);
       })}};
  const auto [here, there] = RandomSides(300, 300, 150, 9);  // one range
  for (const auto& [words, tamper] : kLies) {
    for (const Strategy strategy : kAllStrategies) {
      Settings settings(strategy);
      settings.tamper = tamper;
      const Joined joined = Join(Operation::kDifference, here, there, settings);
      EXPECT_FALSE(joined.piped.status.ok()) << words << ", " << NameOf(strategy);
      EXPECT_THAT(std::string(joined.piped.status.message()), testing::HasSubstr(words));
      ExpectNoWrongRow(joined, Expected(Operation::kDifference, here, there));
    }
  }
}

// Joins with a change that is made once: the range is repeated.
void ExpectOneRepeat(Operation operation, Settings settings, const Tamper& once) {
  const auto [here, there] = RandomSides(300, 300, 150, 8);
  settings.tamper = once;
  const Joined joined = Join(operation, here, there, settings);
  ExpectExactResult(operation, here, there, joined);
  EXPECT_EQ(joined.statistics.repeated_ranges, 1u) << NameOf(operation);
}

// Changes the first message of rows.
Tamper ChangeRows(Operation operation, std::function<void(Table*)> change) {
  return ChangeKind<Rows>([operation, change, done = false](Rows* rows) mutable {
    if (std::exchange(done, true)) return;
    Table changed;
    RowBatchReader reader(!SendsMatched(operation));
    int unnamed = 0;
    const auto take = [&](const Row& row, bool new_key) {
      unnamed += new_key;
      changed.emplace_back(
          SendsMatched(operation) ? std::to_string(1000000 + unnamed) : std::string(row.key),
          row.value);
      return absl::OkStatus();
    };
    EXPECT_TRUE(reader.Read(rows->batch, take).ok());
    change(&changed);
    RowBatchWriter writer(!SendsMatched(operation));
    for (const auto& [key, value] : changed) writer.Add({key, value});
    rows->batch.clear();
    writer.TakeBatch(&rows->batch);
  });
}

TEST(JoinFaults, RowsSuppressedOrInventedAreFound) {
  const std::function<void(Table*)> kChanges[] = {
      [](Table* rows) {  // all of one key
        const std::string victim = (*rows)[rows->size() / 2].first;
        std::erase_if(*rows, [&](auto& row) { return row.first == victim; });
      },
      [](Table* rows) { rows->clear(); },
      [](Table* rows) { rows->emplace_back(rows->back().first + "x", "invented"); }};
  for (Operation operation :
       {Operation::kIntersection, Operation::kDifference, Operation::kSymmetric}) {
    for (Strategy strategy : kAllStrategies) {
      for (const auto& change : kChanges) {
        ExpectOneRepeat(operation, Settings(strategy), ChangeRows(operation, change));
      }
    }
  }
}

// In the first answer to a list, so that nothing but the sums can tell.
TEST(JoinFaults, AFlippedHitIsFound) {
  for (Operation operation : kAllOperations) {
    for (Strategy strategy : {Strategy::kList, Strategy::kKeys}) {
      const auto flip = [done = false](Part part, std::string* body) mutable {
        if (part != Part::kMatchBitmap || std::exchange(done, true)) return;
        ByteReader in(*body);
        PageVector<uint8_t> flags;
        EXPECT_TRUE(DecodeFlags(&in, 300, &flags) && in.Finished());
        flags[flags.size() / 2] ^= 1;
        body->clear();
        ByteWriter out(body);
        EncodeFlags(flags, &out);
      };
      ExpectOneRepeat(operation, Settings(strategy), ChangeParts(flip));
    }
  }
}

}  // namespace
}  // namespace rocksieve::join
