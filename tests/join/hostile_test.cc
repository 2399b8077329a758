// SPDX-License-Identifier: Apache-2.0
// Clients and servers that do not keep the rules, message by message, and what the other side makes
// of them: an error, in the memory and the room for rows that it may take, and no wrong row.
#include <gmock/gmock.h>

#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/row_batch.h"
#include "tests/join/hostile_bodies.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using enum absl::StatusCode;

constexpr uint64_t kMemoryBytes = 8 << 20;

// One sum of six bits for each of very many groups, and room for the sums of 95 levels more.
Step SketchInManyGroups() {
  pinsketch::Plan plan;
  plan.field_bits = 6;
  plan.groups = 1'000'000;
  plan.raw_levels = 1;
  plan.parity_symbols.assign(95, 0);
  std::string body;
  ByteWriter out(&body);
  out.Varint(2'000'000);
  plan.Write(&out);
  out.Bytes(std::string(plan.SketchBytes(), '\0'));
  return StepWith(0, Part::kSketch, body);
}

// A range in which the other side says that it has so many keys.
Open RangeWith(uint64_t keys, bool server_begins, uint32_t attempt = 0) {
  Open open;
  open.sum.count = keys;
  open.server_begins = server_begins;
  open.attempt = attempt;
  return open;
}
Open EmptyRange() {
  Open open;
  open.interval = {"a", "b"};
  return open;
}
Open Pruned(Open open, uint32_t attempt, uint64_t filters, uint32_t candidates) {
  open.attempt = attempt;
  open.pruning.filters = filters;
  open.pruning.candidates = candidates;
  return open;
}

class SessionWithHostileClient : public testing::Test {
 protected:
  SessionWithHostileClient() {
    options_.most_message_bytes = kMemoryBytes / 4;
    options_.most_keys_per_range = 10'000;
    for (int i = 100; i < 400; i++) rows_.emplace_back("key" + std::to_string(i), "value");
  }
  ~SessionWithHostileClient() override { End(); }

  void Begin(Strategy strategy) {
    End();
    memory_.emplace(kMemoryBytes);
    source_.emplace(rows_);
    options_.memory = &*memory_;
    side_.emplace(&*source_, options_);
    Hello hello;
    hello.strategy = strategy;
    hello.operation = Operation::kIntersection;
    ASSERT_TRUE(Say(hello).ok());
  }
  void End() {
    if (memory_) {
      EXPECT_LE(memory_->peak_bytes(), kMemoryBytes);
    }
    side_.reset();
  }
  absl::Status Say(const Message& message) { return side_->Receive(Encode(message)); }
  // Takes all that it has to say: how many bytes, or the error.
  absl::StatusOr<uint64_t> Drain() {
    uint64_t bytes = 0;
    for (;;) {
      const absl::StatusOr<std::string> message = side_->Next();
      if (!message.ok()) return message.status();
      if (message->empty()) return bytes;
      bytes += message->size();
    }
  }

  Table rows_;
  ServerSessionOptions options_;
  std::optional<MemoryAccount> memory_;
  std::optional<MemorySource> source_;
  std::optional<ServerSession> side_;
};

// Only the last message may be refused, but for want of memory.
TEST_F(SessionWithHostileClient, SaysWhatItMayNot) {
  struct Case {
    const char* name;
    Strategy strategy;
    std::vector<Message> messages;
    absl::StatusCode code, or_code = code;
    bool drains = false;  // all that is said is taken
  };
  const Message fetch = Fetch{0, 0};
  std::vector<Case> cases = {
      {"rows are fetched twice", Strategy::kAuto, {EmptyRange(), fetch, fetch}, kInvalidArgument},
      {"of the same attempt",
       Strategy::kKeys,
       {RangeWith(300, true), RangeWith(300, true)},
       kInvalidArgument},
      {"a range whose rows are being sent",
       Strategy::kAuto,
       {EmptyRange(), fetch, EmptyRange()},
       kInvalidArgument},
      // When all are sent nothing is left of the range, and it may be opened like any other.
      {"one whose rows were sent",
       Strategy::kAuto,
       {EmptyRange(), fetch, EmptyRange()},
       kOk,
       kOk,
       true},
      {"with filters that are not there: it is withdrawn",
       Strategy::kAuto,
       {EmptyRange(), fetch, Pruned(EmptyRange(), 1, 3, 0)},
       kOk},
      {"more keys left than there were",
       Strategy::kList,
       {Pruned(RangeWith(300, true), 0, 0, UINT32_MAX)},
       kInvalidArgument},
      {"after its goodbye", Strategy::kAuto, {Goodbye(), EmptyRange()}, kInvalidArgument},
      {"a list",
       Strategy::kList,
       {RangeWith(2e6, false), StepWith(0, Part::kList, ListOfZeros(250'000))},
       kResourceExhausted},
      {"symbols",
       Strategy::kSymbols,
       {RangeWith(2e6, false), StepWith(0, Part::kSymbols, RandomSymbols(2e6, 0, 300'000))},
       kResourceExhausted},
      {"groups",
       Strategy::kSketch,
       {RangeWith(2e6, false), SketchInManyGroups()},
       kResourceExhausted},
  };
  const Step keys = StepWith(0, Part::kKeys, KeysThatUnpackTo(64 << 20));
  for (const uint64_t n : {300, 2'000'000}) {
    cases.push_back({"keys", Strategy::kKeys, {RangeWith(n, false), keys}, kInvalidArgument});
    for (const uint64_t sketched : {30'000, 100'000, 2'000'001}) {
      const auto [code, or_code] = sketched > n ? std::pair(kInvalidArgument, kInvalidArgument)
                                                : std::pair(kOk, kResourceExhausted);
      cases.push_back({"a sketch",
                       Strategy::kSketch,
                       {RangeWith(n, false), StepWith(0, Part::kSketch, SketchOfMany(sketched))},
                       code,
                       or_code});
    }
  }
  for (const uint64_t n : {400'000u, 1'500'000u, 4'294'967'295u}) {
    cases.push_back(
        {"more cells than keys",
         Strategy::kSketch,
         {RangeWith(300, true), StepWith(0, Part::kEmptyCellBitmap, EmptyCellBitmapOfMany(n))},
         kInvalidArgument,
         kInvalidArgument,
         true});
  }
  for (const uint64_t n : {1'000, 30'000, 400'000, 2'000'000}) {
    cases.push_back(
        {"all of many keys differ",
         Strategy::kSketch,
         {RangeWith(n, true), StepWith(0, Part::kEmptyCellBitmap, EmptyCellBitmapOfMany(n))},
         kOk,
         kResourceExhausted,
         true});
  }
  for (const Case& said : cases) {
    SCOPED_TRACE(said.name);
    Begin(said.strategy);
    absl::Status status;
    for (size_t i = 0; i < said.messages.size() && status.ok(); i++) {
      if (said.drains) {
        ASSERT_TRUE(Drain().ok());
      }
      status = Say(said.messages[i]);
      if (i + 1 < said.messages.size()) {
        EXPECT_TRUE(status.ok() || status.code() == said.or_code) << status;
      }
    }
    EXPECT_THAT(status.code(), AnyOf(said.code, said.or_code)) << status;
    const absl::StatusOr<uint64_t> bytes = Drain();
    if (status.ok() && bytes.ok()) {
      EXPECT_LE(*bytes, 2 * options_.most_message_bytes);
    }
  }
}

TEST_F(SessionWithHostileClient, OpensAFetchedRangeAgainSoThatItIsTooLarge) {
  options_.most_keys_per_range = 100;
  Begin(Strategy::kAuto);
  ASSERT_TRUE(Say(EmptyRange()).ok());
  ASSERT_TRUE(Say(Fetch{0, 0}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Say(RangeWith(5, true))));
  EXPECT_TRUE(Say(RangeWith(5, true, 1)).ok());
  EXPECT_TRUE(Drain().ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Say(Fetch{0, 1})));
}

TEST_F(SessionWithHostileClient, GoesOnWithoutEnd) {
  const auto refusal = [this](auto make, bool drains = false) {
    absl::Status status;
    for (uint32_t i = 0; i < 255 && status.ok(); i++) {
      status = Say(make(i));
      if (drains && status.ok()) {
        EXPECT_TRUE(Drain().ok());
      }
    }
    return status;
  };
  const auto again = [](uint32_t i) { return RangeWith(300, /*server_begins=*/true, i); };
  Begin(Strategy::kKeys);
  refusal(again).IgnoreError();  // within its memory

  Begin(Strategy::kSketch);
  ASSERT_TRUE(Say(RangeWith(300, true)).ok());
  ASSERT_TRUE(Drain().ok());
  const Step more = StepWith(0, Part::kMoreParity, Number(0));
  EXPECT_THAT(std::string(refusal([&](uint32_t) { return more; }, /*drains=*/true).message()),
              HasSubstr("more requests for parity"));

  Begin(Strategy::kList);  // fences of ranges are in the account
  EXPECT_TRUE(absl::IsResourceExhausted(refusal([](uint32_t i) {
    Open open = RangeWith(5, false);
    open.range = i;
    open.interval = {"a", "key3" + std::string(1 << 20, 'x')};
    return open;
  })));

  rows_.clear();  // it takes no answers, which are large
  for (int i = 0; i < 2000; i++) {
    rows_.emplace_back(std::to_string(100'000 + i) + std::string(500, static_cast<char>(i)), "");
  }
  Begin(Strategy::kSymbols);
  EXPECT_TRUE(absl::IsResourceExhausted(refusal(again)));
}

class SessionWithHostileServer : public testing::Test {
 protected:
  SessionWithHostileServer() : source_(Keys()) {
    options_.salt = 12345;
    options_.memory = &memory_;
    options_.most_message_bytes = kMemoryBytes / 4;
    options_.keys_are_unique = true;
  }
  ~SessionWithHostileServer() override { EXPECT_LE(memory_.peak_bytes(), kMemoryBytes); }

  static Table Keys() {
    Table rows;
    for (int i = 100; i < 110; i++) rows.emplace_back("key" + std::to_string(i), "value");
    return rows;
  }

  // Up to its first opening.
  Open Begin(Operation operation, HelloAnswer answer = {}) {
    options_.operation = operation;
    side_.emplace(&source_, &sink_, options_);
    EXPECT_TRUE(std::holds_alternative<Hello>(Next()));
    answer.keys = 10;
    answer.hash_check = HashCheck(options_.salt);
    answer.most_keys_per_range = 1000;
    begun_ = Hear(answer);
    return begun_.ok() ? std::get<Open>(Next()) : Open();
  }
  // The range is the same on both sides, and its rows are asked for.
  void BeginWithEqual(Operation operation) {
    Facts facts;
    facts.sum = Begin(operation).sum;
    facts.outcome = Facts::Outcome::kEqual;
    ASSERT_TRUE(Hear(facts).ok());
    ASSERT_TRUE(std::holds_alternative<Fetch>(Next()));
  }
  // The server begins, and says that it has so many keys.
  void BeginWith(Strategy strategy, uint64_t keys) {
    options_.planner.strategy = strategy;
    Begin(Operation::kIntersection);
    Facts facts;
    facts.sum.count = keys;
    ASSERT_TRUE(Hear(facts).ok());
  }
  Message Next() {
    const absl::StatusOr<std::string> message = side_->Next();
    EXPECT_TRUE(message.ok()) << message.status();
    return *Decode(*message);
  }
  absl::Status Hear(const Message& message) { return side_->Receive(Encode(message)); }

  static Rows BatchOf(const std::vector<std::string>& keys, bool with_keys) {
    RowBatchWriter batch(with_keys);
    for (const std::string& key : keys) batch.Add({key, "value"});
    Rows message;
    batch.TakeBatch(&message.batch);
    return message;
  }

  MemorySource source_;
  Collector sink_;
  MemoryAccount memory_{kMemoryBytes};
  ClientSessionOptions options_;
  std::optional<ClientSession> side_;
  absl::Status begun_;
};

TEST_F(SessionWithHostileServer, SendsTwoRowsOfOneKeyOrNone) {
  for (const size_t rows : {0, 2}) {
    BeginWithEqual(Operation::kIntersection);
    const absl::Status status = Hear(BatchOf(std::vector<std::string>(rows, "key"), false));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(rows == 0 ? "" : "two rows of one key"));
    EXPECT_TRUE(sink_.result().empty());
  }
}

TEST_F(SessionWithHostileServer, SendsRowsOfAKeyWithoutEnd) {
  options_.keys_are_unique = false;  // as with an expression
  options_.most_unproven_bytes = 1 << 20;
  BeginWithEqual(Operation::kIntersection);
  absl::Status status;
  RowBatchWriter writer(/*with_keys=*/false);
  for (int batches = 0; batches < 1000 && status.ok(); batches++) {
    for (int i = 0; i < 1000; i++) writer.Add({"key", ""});
    Rows rows;
    writer.TakeBatch(&rows.batch);
    status = Hear(rows);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("wait for its proof"));
}

TEST_F(SessionWithHostileServer, SendsRowsOfMoreKeysThanItSaid) {
  BeginWithEqual(Operation::kDifference);
  std::vector<std::string> keys;
  for (int i = 0; i < 20; i++) keys.push_back("key0" + std::to_string(100 + i));
  // The range is tried again, and none of its rows is given.
  EXPECT_TRUE(Hear(BatchOf(keys, true)).ok());
  EXPECT_TRUE(sink_.result().empty());
  EXPECT_EQ(std::get<Open>(Next()).attempt, 1);
}

TEST_F(SessionWithHostileServer, GoesOnWithAnAttemptThatWasGivenUp) {
  options_.most_unproven_bytes = 1 << 20;
  BeginWithEqual(Operation::kDifference);
  const Rows rows = BatchOf({"key105"}, true);  // which this side has
  ASSERT_TRUE(Hear(rows).ok());                 // contradicts what was reconciled
  absl::Status status;
  for (uint64_t heard = 0; heard < 1'000'000 && status.ok(); heard++) status = Hear(rows);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(sink_.result().empty());
}

TEST_F(SessionWithHostileServer, CutsARangeAgainAndAgainOrAtAHugeKey) {
  Facts facts;
  facts.outcome = Facts::Outcome::kTooLarge;
  facts.range = Begin(Operation::kIntersection).range;
  absl::Status status;
  int cuts = 0;
  for (; cuts < 100 && status.ok(); cuts++) {
    facts.next_key = "key1" + std::string(static_cast<size_t>(200 - cuts), 'x');
    status = Hear(facts);
    if (status.ok()) facts.range = std::get<Open>(Next()).range;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_LE(cuts, 3);
  facts.range = Begin(Operation::kIntersection).range;
  facts.next_key = std::string(3 << 20, 'x');
  EXPECT_TRUE(absl::IsResourceExhausted(Hear(facts)));
}

TEST_F(SessionWithHostileServer, HasRowsWithoutAKeyWhereWholeKeysAreJoined) {
  HelloAnswer answer;
  answer.absent.count = uint64_t{1} << 40;
  Begin(Operation::kDifference, answer);
  EXPECT_TRUE(absl::IsInvalidArgument(begun_)) << begun_;
}

TEST_F(SessionWithHostileServer, HasMoreKeysThanItSaidOrVeryMany) {
  BeginWith(Strategy::kSketch, 10);
  for (const uint64_t n : {11u, 30'000u, 4'294'967'295u}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Hear(StepWith(0, Part::kSketch, SketchOfMany(n)))));
  }
  BeginWith(Strategy::kSymbols, kMostKeysOfARange);
  EXPECT_TRUE(absl::IsResourceExhausted(
      Hear(StepWith(0, Part::kSymbols, RandomSymbols(kMostKeysOfARange, 0, 300'000)))));
}

}  // namespace
}  // namespace rocksieve::join
