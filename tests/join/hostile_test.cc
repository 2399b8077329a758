// SPDX-License-Identifier: Apache-2.0
// Clients that do not keep the rules, message by message, and what the server makes of them: an
// error, in the memory that it may take.
#include <gmock/gmock.h>

#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/compression.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/server_session.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

using testing::HasSubstr;

constexpr uint64_t kClientMemoryBytes = 8 << 20;

class SessionWithHostileClient : public testing::Test {
 protected:
  explicit SessionWithHostileClient() : source_(Keys()) {
    options_.memory = &memory_;
    options_.most_message_bytes = kClientMemoryBytes / 4;
    options_.most_keys_per_range = 10'000;
  }

  static Table Keys() {
    Table rows;
    for (int i = 100; i < 400; i++) rows.emplace_back("key" + std::to_string(i), "value");
    return rows;
  }

  void Begin(Strategy strategy, Operation operation = Operation::kIntersection) {
    side_ = std::make_unique<ServerSession>(&source_, options_);
    Hello hello;
    hello.operation = operation;
    hello.strategy = strategy;
    ASSERT_TRUE(side_->Receive(Encode(hello)).ok());
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
  // A range in which the other side says that it has so many keys.
  static Open RangeWith(uint64_t keys, bool server_begins) {
    Open open;
    open.sum.count = keys;
    open.server_begins = server_begins;
    return open;
  }
  static Open EmptyRange() {
    Open open;
    open.interval = {"a", "b"};
    return open;
  }
  // Of a side that has n keys left, and found n differing cells in groups that it could not decode.
  static std::string EmptyCellBitmapOf(uint64_t n) {
    std::string body;
    ByteWriter out(&body);
    out.Varint(n);
    out.Varint(n);
    out.Varint(0);
    out.U64(0);
    out.Varint(0);
    return body;
  }
  static Step StepOf(Part part, const std::string& body) {
    Step step;
    AppendPart(part, body, &step.message);
    return step;
  }
  void ExpectWithinMemory() const { EXPECT_LE(memory_.peak_bytes(), kClientMemoryBytes); }

  MemorySource source_;
  MemoryAccount memory_{kClientMemoryBytes};
  ServerSessionOptions options_;
  std::unique_ptr<ServerSession> side_;
};

TEST_F(SessionWithHostileClient, OpensARangeAgainWhoseRowsItHasFetched) {
  for (const bool in_one_frame : {true, false}) {
    Begin(Strategy::kAuto);
    ASSERT_TRUE(Say(EmptyRange()).ok());
    ASSERT_TRUE(Say(Fetch{0, 0}).ok());
    if (!in_one_frame) {
      ASSERT_TRUE(Drain().ok());
    }
    const absl::Status status = Say(EmptyRange());
    // When all rows are sent, nothing is left of the range, and it may be opened like any other.
    EXPECT_EQ(status.ok(), !in_one_frame) << status;
    if (in_one_frame) {
      EXPECT_THAT(std::string(status.message()), HasSubstr("being sent"));
    }
    EXPECT_TRUE(Drain().ok());
  }
}

TEST_F(SessionWithHostileClient, OpensAFetchedRangeAgainSoThatItIsTooLarge) {
  options_.most_keys_per_range = 100;
  Begin(Strategy::kAuto);
  ASSERT_TRUE(Say(EmptyRange()).ok());
  ASSERT_TRUE(Say(Fetch{0, 0}).ok());
  Open large = RangeWith(5, true);
  EXPECT_TRUE(absl::IsInvalidArgument(Say(large)));
  large.attempt = 1;
  EXPECT_TRUE(Say(large).ok());
  EXPECT_TRUE(Drain().ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Say(Fetch{0, 1})));
}

TEST_F(SessionWithHostileClient, OpensAFetchedRangeAgainWithFiltersThatAreNotThere) {
  Begin(Strategy::kAuto);
  ASSERT_TRUE(Say(EmptyRange()).ok());
  ASSERT_TRUE(Say(Fetch{0, 0}).ok());
  Open pruned = EmptyRange();
  pruned.attempt = 1;
  pruned.pruning.filters = 3;
  EXPECT_TRUE(Say(pruned).ok());  // withdrawn
  EXPECT_TRUE(Drain().ok());
}

TEST_F(SessionWithHostileClient, FetchesRowsTwice) {
  Begin(Strategy::kAuto);
  ASSERT_TRUE(Say(EmptyRange()).ok());
  ASSERT_TRUE(Say(Fetch{0, 0}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Say(Fetch{0, 0})));
}

TEST_F(SessionWithHostileClient, SaysInAnEmptyCellBitmapThatItHasMoreKeysThanItSaid) {
  for (const uint64_t n : {400'000u, 1'500'000u, 4'294'967'295u}) {
    Begin(Strategy::kSketch);
    ASSERT_TRUE(Say(RangeWith(300, /*server_begins=*/true)).ok());
    ASSERT_TRUE(Drain().ok());
    const absl::Status status = Say(StepOf(Part::kEmptyCellBitmap, EmptyCellBitmapOf(n)));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    ExpectWithinMemory();
  }
}

TEST_F(SessionWithHostileClient, SaysInAnEmptyCellBitmapThatAllOfManyKeysDiffer) {
  int accepted = 0;
  for (const uint64_t n : {1'000, 30'000, 400'000, 2'000'000}) {
    Begin(Strategy::kSketch);
    absl::Status status = Say(RangeWith(n, /*server_begins=*/true));
    if (absl::IsResourceExhausted(status)) continue;  // for the sketch of so many differences
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(Drain().ok());
    accepted++;
    status = Say(StepOf(Part::kEmptyCellBitmap, EmptyCellBitmapOf(n)));
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    if (status.ok()) {
      const absl::StatusOr<uint64_t> said = Drain();
      ASSERT_TRUE(said.ok()) << said.status();
      EXPECT_LE(*said, options_.most_message_bytes + 1000);
    }
    ExpectWithinMemory();
  }
  EXPECT_GE(accepted, 2);
}

TEST_F(SessionWithHostileClient, SketchesMoreKeysThanItHas) {
  for (const uint64_t said : {300, 2'000'000}) {
    for (const uint64_t n : {30'000, 100'000, 2'000'001}) {
      Begin(Strategy::kSketch);
      ASSERT_TRUE(Say(RangeWith(said, /*server_begins=*/false)).ok());
      std::string body;
      ByteWriter out(&body);
      out.Varint(n);
      out.Bytes(std::string("\x06\x01\x01\x00\x00\x00\x00\x00\x00", 9));
      const absl::Status status = Say(StepOf(Part::kSketch, body));
      if (n > said) {
        EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      } else {
        EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
        const absl::StatusOr<uint64_t> answer = Drain();
        if (answer.ok()) {
          EXPECT_LE(*answer, 2 * options_.most_message_bytes);
        }
      }
      ExpectWithinMemory();
    }
  }
}

TEST_F(SessionWithHostileClient, SketchesInMoreGroupsThanThereIsMemoryFor) {
  Begin(Strategy::kSketch);
  ASSERT_TRUE(Say(RangeWith(2'000'000, /*server_begins=*/false)).ok());
  // One sum of six bits for each of very many groups, and room for the sums of 95 levels more.
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
  const absl::Status status = Say(StepOf(Part::kSketch, body));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  ExpectWithinMemory();
}

TEST_F(SessionWithHostileClient, OpensOneRangeOverAndOver) {
  Begin(Strategy::kKeys);
  uint64_t opened = 0;
  absl::Status status;
  for (int i = 0; i < 300 && status.ok(); i++) {
    Open open = RangeWith(300, /*server_begins=*/true);
    open.attempt = static_cast<uint32_t>(i);
    status = Say(open);
    opened += status.ok();
    if (i == 0) {
      EXPECT_TRUE(absl::IsInvalidArgument(Say(open)));
    }  // of the same attempt
  }
  ExpectWithinMemory();
}

TEST_F(SessionWithHostileClient, TakesNoAnswers) {
  Table large;
  for (int i = 0; i < 2000; i++) {
    large.emplace_back(std::to_string(100'000 + i) + std::string(500, static_cast<char>(i)), "");
  }
  MemorySource source(large);
  ServerSession side(&source, options_);
  Hello hello;
  hello.strategy = Strategy::kSymbols;
  ASSERT_TRUE(side.Receive(Encode(hello)).ok());
  absl::Status status;
  for (uint32_t i = 0; i < 255 && status.ok(); i++) {
    Open open = RangeWith(300, /*server_begins=*/true);
    open.attempt = i;
    status = side.Receive(Encode(open));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  ExpectWithinMemory();
}

TEST_F(SessionWithHostileClient, SaysThatFiltersLeftMoreKeysThanItHas) {
  Begin(Strategy::kList);
  Open open = RangeWith(300, /*server_begins=*/true);
  open.pruning.filters = 0;
  open.pruning.candidates = UINT32_MAX;
  const absl::Status status = Say(open);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST_F(SessionWithHostileClient, ListsMoreThanThereIsMemoryFor) {
  Begin(Strategy::kList);
  constexpr uint64_t kEntries = 2'000'000;
  ASSERT_TRUE(Say(RangeWith(kEntries, /*server_begins=*/false)).ok());
  // A bit for each.
  std::string body;
  ByteWriter out(&body);
  out.U8(0);
  out.Varint(kEntries);
  out.U8(0);
  out.Bytes(std::string(kEntries / 8 + 1, '\0'));
  out.U64(0);
  const absl::Status status = Say(StepOf(Part::kList, body));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  ExpectWithinMemory();
}

TEST_F(SessionWithHostileClient, SendsSymbolsForMoreThanThereIsMemoryFor) {
  Begin(Strategy::kSymbols);
  ASSERT_TRUE(Say(RangeWith(2'000'000, /*server_begins=*/false)).ok());
  std::string body;
  ByteWriter out(&body);
  out.U8(32);
  out.Varint(2'000'000);
  std::vector<RatelessCell> cells(300'000);
  RatelessFormat format;
  format.id_bits = 32;
  for (RatelessCell& cell : cells) cell.ids = cell.checks = cell.count = 3;
  WriteCells(cells, 0, format, &out);
  const absl::Status status = Say(StepOf(Part::kSymbols, body));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  ExpectWithinMemory();
}

TEST_F(SessionWithHostileClient, ShipsKeysThatUnpackToMuch) {
  for (const uint64_t keys : {300, 2'000'000}) {
    Begin(Strategy::kKeys);
    ASSERT_TRUE(Say(RangeWith(keys, /*server_begins=*/false)).ok());
    // Empty keys: two zeros each.
    std::string body;
    AppendCompressed(std::string(64 << 20, '\0'), &body);
    ASSERT_LT(body.size(), 10'000);
    const absl::Status status = Say(StepOf(Part::kKeys, body));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    ExpectWithinMemory();
  }
}

TEST_F(SessionWithHostileClient, AsksForParityWithoutEnd) {
  Begin(Strategy::kSketch);
  ASSERT_TRUE(Say(RangeWith(300, /*server_begins=*/true)).ok());
  ASSERT_TRUE(Drain().ok());
  std::string body;
  ByteWriter out(&body);
  out.Varint(0);
  absl::Status status;
  int answered = 0;
  for (; answered < 100 && status.ok(); answered++) {
    status = Say(StepOf(Part::kMoreParity, body));
    if (status.ok()) {
      ASSERT_TRUE(Drain().ok());
    }
  }
  EXPECT_THAT(std::string(status.message()), HasSubstr("more requests for parity"));
  EXPECT_LT(answered, 10);
}

TEST_F(SessionWithHostileClient, GoesOnAfterItsGoodbye) {
  Begin(Strategy::kAuto);
  ASSERT_TRUE(Say(Goodbye()).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Say(EmptyRange())));
}

TEST_F(SessionWithHostileClient, FencesOfRangesAreInTheAccount) {
  Begin(Strategy::kList);
  absl::Status status;
  for (uint64_t range = 0; range < 6 && status.ok(); range++) {
    Open open = RangeWith(5, false);
    open.range = range;
    open.interval = {"a", "key3" + std::string(1 << 20, 'x')};
    status = Say(open);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  ExpectWithinMemory();
}

}  // namespace

// Servers that do not keep the rules, message by message, and what the client makes of them: an
// error, in the memory and the room for rows that it may take, and no wrong row.

namespace {

using testing::HasSubstr;

constexpr uint64_t kMemoryBytes = 8 << 20;
constexpr uint64_t kSalt = 12345;

class SessionWithHostileServer : public testing::Test {
 protected:
  SessionWithHostileServer() : source_(Keys()) {
    options_.salt = kSalt;
    options_.memory = &memory_;
    options_.most_message_bytes = kMemoryBytes / 4;
    options_.keys_are_unique = true;
  }

  static Table Keys() {
    Table rows;
    for (int i = 100; i < 110; i++) rows.emplace_back("key" + std::to_string(i), "value");
    return rows;
  }

  // Up to its first opening.
  Open Begin(Operation operation, const HelloAnswer& changed = {}) {
    options_.operation = operation;
    side_ = std::make_unique<ClientSession>(&source_, &sink_, options_);
    EXPECT_TRUE(std::holds_alternative<Hello>(Next()));
    HelloAnswer answer = changed;
    answer.keys = 10;
    answer.hash_check = HashCheck(kSalt);
    answer.most_keys_per_range = 1000;
    begun_ = Hear(answer);
    if (!begun_.ok()) return {};
    return std::get<Open>(Next());
  }
  Message Next() {
    const absl::StatusOr<std::string> message = side_->Next();
    EXPECT_TRUE(message.ok()) << message.status();
    absl::StatusOr<Message> decoded = Decode(*message);
    EXPECT_TRUE(decoded.ok()) << decoded.status();
    return *std::move(decoded);
  }
  absl::Status Hear(const Message& message) { return side_->Receive(Encode(message)); }

  // The range is the same on both sides, and its rows are asked for.
  void AnswerEqual(const Open& open) {
    Facts facts;
    facts.range = open.range;
    facts.outcome = Facts::Outcome::kEqual;
    facts.sum = open.sum;
    ASSERT_TRUE(Hear(facts).ok());
    ASSERT_TRUE(std::holds_alternative<Fetch>(Next()));
  }
  // Rows without keys, of one key.
  static Rows BatchOf(int rows, size_t value_bytes) {
    RowBatchWriter batch(/*with_keys=*/false);
    const std::string value(value_bytes, 'v');
    for (int i = 0; i < rows; i++) batch.Add({"key", value});
    Rows message;
    batch.TakeBatch(&message.batch);
    return message;
  }
  void ExpectWithinMemory() const { EXPECT_LE(memory_.peak_bytes(), kMemoryBytes); }

  MemorySource source_;
  Collector sink_;
  MemoryAccount memory_{kMemoryBytes};
  ClientSessionOptions options_;
  std::unique_ptr<ClientSession> side_;
  absl::Status begun_;
};

TEST_F(SessionWithHostileServer, SendsTwoRowsOfOneKey) {
  AnswerEqual(Begin(Operation::kIntersection));
  const absl::Status status = Hear(BatchOf(2, 5));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("two rows of one key"));
  EXPECT_TRUE(sink_.result().empty());
}

TEST_F(SessionWithHostileServer, SendsRowsOfAKeyWithoutEnd) {
  options_.keys_are_unique = false;  // as with an expression
  options_.most_unproven_bytes = 1 << 20;
  AnswerEqual(Begin(Operation::kIntersection));
  absl::Status status;
  uint64_t batches = 0;
  RowBatchWriter writer(/*with_keys=*/false);
  for (; batches < 1000 && status.ok(); batches++) {
    for (int i = 0; i < 1000; i++) writer.Add({"key", ""});
    Rows rows;
    writer.TakeBatch(&rows.batch);
    status = Hear(rows);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("wait for its proof"));
  EXPECT_LT(batches, 1000);
}

TEST_F(SessionWithHostileServer, SendsRowsOfMoreKeysThanItSaid) {
  const Open open = Begin(Operation::kDifference);
  AnswerEqual(open);
  RowBatchWriter batch(/*with_keys=*/true);
  std::vector<std::string> keys;
  for (int i = 0; i < 20; i++) keys.push_back("key0" + std::to_string(100 + i));
  for (const std::string& key : keys) batch.Add({key, ""});
  Rows rows;
  batch.TakeBatch(&rows.batch);
  // The range is tried again, and none of its rows is given.
  EXPECT_TRUE(Hear(rows).ok());
  EXPECT_TRUE(sink_.result().empty());
  EXPECT_EQ(std::get<Open>(Next()).attempt, 1);
}

TEST_F(SessionWithHostileServer, SendsBatchesOfNothing) {
  AnswerEqual(Begin(Operation::kIntersection));
  Rows rows;
  RowBatchWriter(/*with_keys=*/false).TakeBatch(&rows.batch);
  EXPECT_TRUE(absl::IsInvalidArgument(Hear(rows)));
}

TEST_F(SessionWithHostileServer, GoesOnWithAnAttemptThatWasGivenUp) {
  options_.most_unproven_bytes = 1 << 20;
  const Open open = Begin(Operation::kDifference);
  AnswerEqual(open);
  RowBatchWriter batch(/*with_keys=*/true);
  batch.Add({"key105", "a row of a key that this side has"});
  Rows rows;
  batch.TakeBatch(&rows.batch);
  ASSERT_TRUE(Hear(rows).ok());  // contradicts what was reconciled
  absl::Status status;
  uint64_t heard = 0;
  for (; heard < 1'000'000 && status.ok(); heard++) status = Hear(rows);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(sink_.result().empty());
}

TEST_F(SessionWithHostileServer, CutsARangeAgainAndAgain) {
  Open open = Begin(Operation::kIntersection);
  absl::Status status;
  int cuts = 0;
  for (; cuts < 100 && status.ok(); cuts++) {
    Facts facts;
    facts.range = open.range;
    facts.outcome = Facts::Outcome::kTooLarge;
    facts.next_key = "key1" + std::string(static_cast<size_t>(200 - cuts), 'x');
    status = Hear(facts);
    if (status.ok()) open = std::get<Open>(Next());
  }
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_LE(cuts, 3);
}

TEST_F(SessionWithHostileServer, CutsRangesAtHugeKeys) {
  Open open = Begin(Operation::kIntersection);
  Facts facts;
  facts.range = open.range;
  facts.outcome = Facts::Outcome::kTooLarge;
  facts.next_key = std::string(3 << 20, 'x');
  const absl::Status status = Hear(facts);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  ExpectWithinMemory();
}

TEST_F(SessionWithHostileServer, HasRowsWithoutAKeyWhereWholeKeysAreJoined) {
  HelloAnswer answer;
  answer.absent.count = uint64_t{1} << 40;
  Begin(Operation::kDifference, answer);
  EXPECT_TRUE(absl::IsInvalidArgument(begun_)) << begun_;
}

TEST_F(SessionWithHostileServer, SaysInAnEmptyCellBitmapThatItHasMoreKeysThanItSaid) {
  options_.planner.strategy = Strategy::kSketch;
  const Open open = Begin(Operation::kIntersection);
  Facts facts;
  facts.range = open.range;
  facts.sum.count = 10;
  ASSERT_TRUE(Hear(facts).ok());
  // The server begins here, with a sketch of more keys than it said.
  for (const uint64_t n : {11u, 30'000u, 4'294'967'295u}) {
    std::string body;
    ByteWriter out(&body);
    out.Varint(n);
    out.Bytes(std::string("\x06\x01\x01\x00\x00\x00\x00\x00\x00", 9));
    Step step;
    step.range = open.range;
    AppendPart(Part::kSketch, body, &step.message);
    const absl::Status status = Hear(step);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  ExpectWithinMemory();
}

TEST_F(SessionWithHostileServer, SaysThatAllOfVeryManyKeysDiffer) {
  options_.planner.strategy = Strategy::kSymbols;
  const Open open = Begin(Operation::kIntersection);
  Facts facts;
  facts.range = open.range;
  facts.sum.count = kMostKeysOfARange;
  ASSERT_TRUE(Hear(facts).ok());
  std::string body;
  ByteWriter out(&body);
  out.U8(32);
  out.Varint(kMostKeysOfARange);
  RatelessFormat format;
  format.id_bits = 32;
  WriteCells(std::vector<RatelessCell>(300'000, {3, 3, 3}), 0, format, &out);
  Step step;
  step.range = open.range;
  AppendPart(Part::kSymbols, body, &step.message);
  const absl::Status status = Hear(step);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  ExpectWithinMemory();
}

}  // namespace

}  // namespace rocksieve::join
