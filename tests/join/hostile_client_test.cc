// SPDX-License-Identifier: Apache-2.0
// Clients that do not keep the rules, message by message, and what the server makes of them: an
// error, in the memory that it may take.
#include <gmock/gmock.h>

#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/compression.h"
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
}  // namespace rocksieve::join
