// SPDX-License-Identifier: Apache-2.0
// Servers that do not keep the rules, message by message, and what the client makes of them: an
// error, in the memory and the room for rows that it may take, and no wrong row.
#include <gmock/gmock.h>

#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/server_session.h"
#include "tests/join/support.h"

namespace rocksieve::join {
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
