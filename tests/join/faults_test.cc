// What a broken or hostile other side, or wire, can do: the result is right, or there is none.
#include <functional>

#include "format/bit_coder.h"
#include "join/messages.h"
#include "join/row_batch.h"
#include "support.h"

namespace rocksieve::join {
namespace {

constexpr Operation kOperations[] = {Operation::kIntersection, Operation::kDifference,
                                     Operation::kSymmetric, Operation::kCount};

Settings Forced(MoveKind ending, int most_filters) {
  Settings settings;
  settings.planner.forced = ending;
  settings.planner.most_filters = most_filters;
  return settings;
}

std::vector<Settings> Strategies() {
  return {Forced(MoveKind::kList, 0), Forced(MoveKind::kKeys, 0),    Forced(MoveKind::kSymbols, 0),
          Forced(MoveKind::kList, 4), Forced(MoveKind::kSymbols, 2), Forced(MoveKind::kSketch, 0)};
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
  for (const Settings& strategy : Strategies()) {
    for (Operation operation : kOperations) {
      const uint64_t messages = Join(operation, here, there, strategy).piped.messages;
      for (uint64_t number = 0; number < messages; number++) {
        for (int i = 0; i < 6; i++) {
          Settings settings = strategy;
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
  return [operation, change, done](uint64_t, bool to_asking, std::string* message) {
    absl::StatusOr<Message> decoded = Decode(*message);
    join::Rows* rows = to_asking && decoded.ok() ? std::get_if<join::Rows>(&*decoded) : nullptr;
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
    for (const Settings& strategy : Strategies()) {
      for (int kind = 0; kind < 3; kind++) {
        Settings settings = strategy;
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
Tamper FlipOneHit() {
  auto done = std::make_shared<bool>(false);
  return [done](uint64_t, bool, std::string* message) {
    constexpr char kHits = 0x10;
    absl::StatusOr<Message> decoded = Decode(*message);
    Turn* turn = decoded.ok() ? std::get_if<Turn>(&*decoded) : nullptr;
    if (turn == nullptr || turn->message.at(0) != kHits || *done) return true;
    *done = true;
    ByteReader in(std::string_view(turn->message).substr(1));
    SetSum sum;
    EXPECT_TRUE(sum.Read(&in));
    std::vector<uint8_t> flags;
    size_t count = 0;
    // The number of flags is not in the message: 300 candidates without filters.
    for (count = 300; count > 0; count--) {
      ByteReader copy = in;
      if (DecodeFlags(&copy, count, &flags) && copy.Finished()) break;
    }
    flags[flags.size() / 2] ^= 1;
    std::string changed(1, kHits);
    ByteWriter out(&changed);
    sum.Write(&out);
    EncodeFlags(flags, &out);
    turn->message = changed;
    *message = Encode(*decoded);
    return true;
  };
}

TEST(JoinFaults, AFlippedHitIsFound) {
  const auto [here, there] = RandomSides(300, 300, 150, 10);
  for (Operation operation : kAllOperations) {
    for (MoveKind ending : {MoveKind::kList, MoveKind::kKeys}) {
      Settings settings = Forced(ending, 0);
      settings.tamper = FlipOneHit();
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
  Settings settings = Forced(MoveKind::kList, 0);
  settings.tamper = [](uint64_t, bool to_asking, std::string* message) {
    absl::StatusOr<Message> decoded = Decode(*message);
    join::Rows* rows = to_asking && decoded.ok() ? std::get_if<join::Rows>(&*decoded) : nullptr;
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
    AnsweringSide answers(&source, {});
    ASSERT_TRUE(answers.Receive(Encode(Hello{})).ok());
    std::string garbage(random() % 60, '\0');
    for (char& byte : garbage) byte = static_cast<char>(random());
    if (!garbage.empty()) garbage[0] = static_cast<char>(random() % 10);
    (void)answers.Receive(garbage);
    for (int n = 0; n < 10; n++) (void)answers.Next();
  }
}

}  // namespace
}  // namespace rocksieve::join
