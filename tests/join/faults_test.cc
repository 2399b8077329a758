// SPDX-License-Identifier: Apache-2.0
// What a broken or hostile other side, or wire, can do: the result is right, or there is none.
#include <functional>

#include "lib/format/bit_coder.h"
#include "lib/hash/key_hash.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/session/messages.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

constexpr Operation kOperations[] = {Operation::kIntersection, Operation::kDifference,
                                     Operation::kLocalOnly, Operation::kSymmetric,
                                     Operation::kCount};

Settings Forced(Strategy strategy) {
  Settings settings;
  settings.planner.strategy = strategy;
  return settings;
}

void ExpectRightOrError(Operation operation, const Table& here, const Table& there,
                        const Settings& settings) {
  const Joined joined = Join(operation, here, there, settings);
  Result expected = Expected(operation, here, there);
  Result result = joined.result;
  std::sort(result.begin(), result.end());
  if (joined.piped.status.ok()) {
    ASSERT_TRUE(result == expected);
  } else {
    // What was committed before is right.
    ASSERT_TRUE(std::includes(expected.begin(), expected.end(), result.begin(), result.end()));
    ASSERT_FALSE(joined.piped.status.message().empty());
  }
}

TEST(JoinFaults, AnyFlippedBitIsFoundOrHarmless) {
  const auto [here, there] = RandomSides(300, 330, 150, 5);
  std::mt19937_64 random(17);
  for (Strategy strategy : kAllStrategies) {
    for (Operation operation : kOperations) {
      const uint64_t messages = Join(operation, here, there, Forced(strategy)).piped.messages;
      for (uint64_t number = 0; number < messages; number++) {
        for (int i = 0; i < 6; i++) {
          Settings settings = Forced(strategy);
          const uint64_t where = random();
          settings.tamper = [number, where](uint64_t n, bool, std::string* message) {
            if (n == number) (*message)[where / 8 % message->size()] ^= 1 << where % 8;
            return true;
          };
          SCOPED_TRACE(testing::Message()
                       << NameOf(operation) << ", message " << number << ", place " << where);
          ExpectRightOrError(operation, here, there, settings);
        }
      }
    }
  }
}

// Bytes changed under a right check: an error, or a repeated range, or an answer, but an end.
TEST(JoinFaults, ChangedBytesUnderARightCheckAreHarmless) {
  constexpr size_t kCheckBytes = 4;
  const auto [here, there] = RandomSides(300, 330, 150, 5);
  std::mt19937_64 random(19);
  for (Strategy strategy : kAllStrategies) {
    const Operation operation = Operation::kSymmetric;
    const uint64_t messages = Join(operation, here, there, Forced(strategy)).piped.messages;
    for (uint64_t number = 0; number < messages; number++) {
      for (int i = 0; i < 12; i++) {
        Settings settings = Forced(strategy);
        settings.tamper = [&](uint64_t n, bool, std::string* message) {
          if (n != number) return true;
          message->resize(message->size() - kCheckBytes);
          (*message)[random() % message->size()] ^= static_cast<char>(1 << random() % 8);
          ByteWriter(message).U32(static_cast<uint32_t>(HashKey(*message, 0)));
          return true;
        };
        (void)Join(operation, here, there, settings);
      }
    }
  }
}

TEST(JoinFaults, AnyMessageMayBeTheLast) {
  const auto [here, there] = RandomSides(2500, 2500, 1000, 6);
  for (Operation operation : kOperations) {
    const uint64_t messages = Join(operation, here, there).piped.messages;
    for (uint64_t number = 0; number < messages; number++) {
      Settings settings;
      settings.tamper = [number](uint64_t n, bool, std::string*) { return n != number; };
      const Joined joined = Join(operation, here, there, settings);
      Result expected = Expected(operation, here, there), result = joined.result;
      std::sort(result.begin(), result.end());
      ASSERT_TRUE(std::includes(expected.begin(), expected.end(), result.begin(), result.end()));
    }
  }
}

// Changes the first message of rows, once.
Tamper ChangeRows(
    Operation operation,
    const std::function<void(std::vector<std::pair<std::string, std::string>>*)>& change) {
  auto done = std::make_shared<bool>(false);
  return [operation, change, done](uint64_t, bool to_client, std::string* message) {
    absl::StatusOr<Message> decoded = Decode(*message);
    join::Rows* rows = to_client && decoded.ok() ? std::get_if<join::Rows>(&*decoded) : nullptr;
    if (rows == nullptr || *done) return true;
    *done = true;
    std::vector<std::pair<std::string, std::string>> changed;
    RowBatchReader reader(!SendsMatched(operation));
    int unnamed = 0;
    EXPECT_TRUE(reader
                    .Read(rows->batch,
                          [&](const Row& row, bool new_key) {
                            unnamed += new_key;
                            changed.emplace_back(SendsMatched(operation)
                                                     ? std::to_string(1000000 + unnamed)
                                                     : std::string(row.key),
                                                 row.value);
                            return absl::OkStatus();
                          })
                    .ok());
    change(&changed);
    RowBatchWriter writer(!SendsMatched(operation));
    for (const auto& [key, value] : changed) writer.Add({key, value});
    rows->batch.clear();
    writer.TakeBatch(&rows->batch);
    *message = Encode(*decoded);
    return true;
  };
}

TEST(JoinFaults, RowsSuppressedOrInventedAreFound) {
  const auto [here, there] = RandomSides(300, 300, 150, 8);
  using Changed = std::vector<std::pair<std::string, std::string>>;
  for (Operation operation :
       {Operation::kIntersection, Operation::kDifference, Operation::kSymmetric}) {
    for (Strategy strategy : kAllStrategies) {
      for (int kind = 0; kind < 3; kind++) {
        Settings settings = Forced(strategy);
        settings.tamper = ChangeRows(operation, [kind](Changed* rows) {
          // All rows of one key, or the whole batch, or one more.
          const std::string victim = (*rows)[rows->size() / 2].first;
          if (kind == 0) std::erase_if(*rows, [&](auto& row) { return row.first == victim; });
          if (kind == 1) rows->clear();
          if (kind == 2) rows->emplace_back(rows->back().first + "x", "invented");
        });
        const Joined joined = Join(operation, here, there, settings);
        ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
        EXPECT_EQ(joined.statistics.repeated_ranges, 1u) << NameOf(operation) << kind;
        Result result = joined.result;
        std::sort(result.begin(), result.end());
        EXPECT_TRUE(result == Expected(operation, here, there));
      }
    }
  }
}

// Changes the first answer to a list, once, so that nothing but the sums can tell.
Tamper FlipOneHit(size_t entries) {
  auto done = std::make_shared<bool>(false);
  return [done, entries](uint64_t, bool, std::string* message) {
    absl::StatusOr<Message> decoded = Decode(*message);
    Step* step = decoded.ok() ? std::get_if<Step>(&*decoded) : nullptr;
    if (step == nullptr || *done) return true;
    std::string changed;
    VisitParts(step->message, [&](Part part, std::string_view body) {
      std::string bitmap;
      if (part == Part::kMatchBitmap && !*done) {
        *done = true;
        ByteReader in(body);
        PageVector<uint8_t> flags;
        EXPECT_TRUE(DecodeFlags(&in, entries, &flags) && in.Finished());
        flags[flags.size() / 2] ^= 1;
        ByteWriter out(&bitmap);
        EncodeFlags(flags, &out);
        body = bitmap;
      }
      AppendPart(part, body, &changed);
    });
    step->message = changed;
    *message = Encode(*decoded);
    return true;
  };
}

TEST(JoinFaults, AFlippedHitIsFound) {
  const auto [here, there] = RandomSides(300, 300, 150, 10);
  for (Operation operation : kAllOperations) {
    for (Strategy strategy : {Strategy::kList, Strategy::kKeys}) {
      Settings settings = Forced(strategy);
      settings.tamper = FlipOneHit(300);
      const Joined joined = Join(operation, here, there, settings);
      ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
      EXPECT_EQ(joined.statistics.repeated_ranges, 1u);
      Result result = joined.result;
      std::sort(result.begin(), result.end());
      EXPECT_TRUE(result == Expected(operation, here, there));
    }
  }
}

TEST(JoinFaults, AlwaysBrokenRangesEndInAnError) {
  const auto [here, there] = RandomSides(300, 300, 150, 9);
  Settings settings = Forced(Strategy::kList);
  settings.tamper = [](uint64_t, bool to_client, std::string* message) {
    absl::StatusOr<Message> decoded = Decode(*message);
    join::Rows* rows = to_client && decoded.ok() ? std::get_if<join::Rows>(&*decoded) : nullptr;
    if (rows == nullptr) return true;
    rows->batch.clear();
    RowBatchWriter(true).TakeBatch(&rows->batch);
    *message = Encode(*decoded);
    return true;
  };
  const Joined joined = Join(Operation::kDifference, here, there, settings);
  EXPECT_TRUE(absl::IsDataLoss(joined.piped.status)) << joined.piped.status;
  EXPECT_TRUE(joined.result.empty());
}

TEST(JoinFaults, GarbageIsAnError) {
  std::mt19937_64 random(23);
  for (int i = 0; i < 20000; i++) {
    MemorySource source(Table{{"a", "1"}});
    ServerSession server(&source, {});
    ASSERT_TRUE(server.Receive(Encode(Hello{})).ok());
    std::string garbage(random() % 60, '\0');
    for (char& byte : garbage) byte = static_cast<char>(random());
    if (!garbage.empty()) garbage[0] = static_cast<char>(random() % 10);
    (void)server.Receive(garbage);
    for (int n = 0; n < 10; n++) (void)server.Next();
  }
}

}  // namespace
}  // namespace rocksieve::join
