// SPDX-License-Identifier: Apache-2.0
// Every sequence of messages that a peer may send, up to a length: no order of them may break a
// side, and each is accepted or refused as the tables of states say
// (lib/join/session/server_ranges.h, client_ranges.h).
#include <map>

#include "lib/join/memory_account.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

constexpr size_t kLongestSequence = 6;
constexpr uint64_t kModelSalt = 12345;
constexpr uint64_t kModelMemoryBytes = 1 << 20;

void Drain(Session* session) {
  for (;;) {
    const absl::StatusOr<std::string> message = session->Next();
    EXPECT_TRUE(message.ok()) << message.status();
    if (!message.ok() || message->empty()) return;
  }
}

// ------------------------------------------------------------------------------ Server

const Table kTheirs = {{"a1", "1"}, {"a2", "2"}, {"b1", "3"}, {"b2", "4"}, {"b3", "5"},
                       {"c1", "6"}, {"c2", "7"}, {"c3", "8"}, {"c4", "9"}, {"c5", "10"}};
constexpr uint64_t kMostKeys = 4;                         // of a range: "c" is too large
constexpr uint64_t kEqual = 0, kDiffers = 2, kLarge = 4;  // numbers of ranges

SetSum SumOf(const std::vector<std::string>& keys, uint64_t range, uint32_t attempt) {
  const uint64_t salt = RangeSalt(kModelSalt, range, attempt);
  const SetSummer summer(salt);
  SetSum sum;
  for (const std::string& key : keys) summer.Add(HashKey128(key, salt), &sum);
  return sum;
}

std::string OpenOf(uint64_t range, uint32_t attempt) {
  static const std::map<uint64_t, std::pair<KeyInterval, std::vector<std::string>>> kRanges = {
      {kEqual, {{"a", "b"}, {"a1", "a2"}}},
      {kDiffers, {{"b", "c"}, {"b2", "b9"}}},
      {kLarge, {{"c", std::nullopt}, {"c1"}}}};
  const auto& [interval, keys] = kRanges.at(range);
  Open open;
  open.range = range;
  open.attempt = attempt;
  open.interval = interval;
  open.sum = SumOf(keys, range, attempt);
  open.server_begins = false;
  return Encode(open);
}

// What is sent, and the table's answer to whether it may be: the test's own copy of the states.
class ServerModel {
 public:
  enum class State { kNone, kTooLarge, kReconciling, kReconciled };

  bool Open(uint64_t range, uint32_t attempt) {
    const auto found = ranges_.find(range);
    if (found != ranges_.end()) {
      const auto& [state, had] = found->second;
      if (attempt < had || (attempt == had && state != State::kTooLarge)) return false;
    }
    for (const auto& [sent, had] : sending_) {
      if (sent == range && attempt <= had) return false;
    }
    const State next = range == kEqual     ? State::kReconciled
                       : range == kDiffers ? State::kReconciling
                                           : State::kTooLarge;
    ranges_[range] = {next, attempt};
    return true;
  }
  // A list of none: nothing is matched.
  bool Step(uint64_t range) {
    const auto found = ranges_.find(range);
    if (found == ranges_.end() || found->second.first != State::kReconciling) return false;
    found->second.first = State::kReconciled;
    return true;
  }
  bool Fetch(uint64_t range, uint32_t attempt) {
    const auto found = ranges_.find(range);
    if (found == ranges_.end() || found->second != std::pair(State::kReconciled, attempt)) {
      return false;
    }
    sending_.emplace_back(range, attempt);
    ranges_.erase(found);
    return true;
  }
  bool FetchAbsent() {
    if (absent_) return false;
    return absent_ = true;
  }
  void Drain() {
    sending_.clear();
    absent_ = false;
  }

 private:
  std::map<uint64_t, std::pair<State, uint32_t>> ranges_;
  std::vector<std::pair<uint64_t, uint32_t>> sending_;
  bool absent_ = false;
};

struct Action {
  const char* name;
  std::string message;  // empty: what the side has to say is taken
  std::function<bool(ServerModel*)> expected;
};

std::vector<Action> ServerActions() {
  Step nothing;
  nothing.range = kDiffers;
  std::string body;
  ByteWriter out(&body);
  out.U8(10);
  out.Varint(0);
  out.U64(0);
  AppendPart(Part::kList, body, &nothing.message);
  Step stray = nothing;
  stray.range = kEqual;
  Filters filters;
  filters.state = Filters::State::kLast;
  using M = ServerModel;
  return {
      {"open equal 0", OpenOf(kEqual, 0), [](M* m) { return m->Open(kEqual, 0); }},
      {"open equal 1", OpenOf(kEqual, 1), [](M* m) { return m->Open(kEqual, 1); }},
      {"open differing 0", OpenOf(kDiffers, 0), [](M* m) { return m->Open(kDiffers, 0); }},
      {"open differing 1", OpenOf(kDiffers, 1), [](M* m) { return m->Open(kDiffers, 1); }},
      {"open large 0", OpenOf(kLarge, 0), [](M* m) { return m->Open(kLarge, 0); }},
      {"step", Encode(nothing), [](M* m) { return m->Step(kDiffers); }},
      {"step about equal", Encode(stray), [](M* m) { return m->Step(kEqual); }},
      {"fetch equal 0", Encode(Fetch{kEqual, 0}), [](M* m) { return m->Fetch(kEqual, 0); }},
      {"fetch equal 1", Encode(Fetch{kEqual, 1}), [](M* m) { return m->Fetch(kEqual, 1); }},
      {"fetch differing", Encode(Fetch{kDiffers, 0}), [](M* m) { return m->Fetch(kDiffers, 0); }},
      {"fetch large", Encode(Fetch{kLarge, 0}), [](M* m) { return m->Fetch(kLarge, 0); }},
      {"fetch absent", Encode(Fetch{kAbsentRange, 0}), [](M* m) { return m->FetchAbsent(); }},
      {"filters", Encode(filters), [](M*) { return false; }},
      {"drain", "",
       [](M* m) {
         m->Drain();
         return true;
       }},
  };
}

// Runs all sequences of so many messages, as far as the side accepts the last one: how many.
uint64_t Walk(size_t actions, const std::function<bool(const std::vector<size_t>&)>& run,
              std::vector<size_t> sequence = {}) {
  uint64_t runs = 0;
  sequence.push_back(0);
  for (size_t& last = sequence.back(); last < actions && !testing::Test::HasFailure(); last++) {
    runs++;
    if (run(sequence) && sequence.size() < kLongestSequence) runs += Walk(actions, run, sequence);
  }
  return runs;
}

TEST(StateModel, ServerTakesWhatItsTableAllows) {
  const std::vector<Action> actions = ServerActions();
  const auto run = [&actions](const std::vector<size_t>& sequence) {
    std::string names;
    for (const size_t action : sequence) names += std::string(actions[action].name) + "; ";
    SCOPED_TRACE(names);
    MemorySource source(kTheirs);
    MemoryAccount memory(kModelMemoryBytes);
    bool accepted = true;
    {
      ServerSessionOptions options;
      options.most_keys_per_range = kMostKeys;
      options.memory = &memory;
      ServerSession side(&source, options);
      ServerModel model;
      Hello hello;
      hello.operation = Operation::kDifference;
      hello.salt = kModelSalt;
      hello.strategy = Strategy::kList;
      EXPECT_TRUE(side.Receive(Encode(hello)).ok());
      for (const size_t index : sequence) {
        const Action& action = actions[index];
        const bool expected = action.expected(&model);
        if (action.message.empty()) {
          Drain(&side);
          continue;
        }
        const absl::Status status = side.Receive(action.message);
        accepted = status.ok();
        EXPECT_EQ(accepted, expected) << status;
        EXPECT_TRUE(accepted || absl::IsInvalidArgument(status)) << status;
      }
      if (accepted) Drain(&side);
    }
    EXPECT_EQ(memory.used_bytes(), 0);
    return accepted;
  };
  EXPECT_GT(Walk(actions.size(), run), 50'000);
}

TEST(ServerSession, SendsRowsWithANullKeyAgainBeforeTheyAreThrough) {
  MemorySource source(kTheirs);
  ServerSession side(&source, ServerSessionOptions());
  Hello hello;
  hello.operation = Operation::kDifference;
  EXPECT_TRUE(side.Receive(Encode(hello)).ok());
  for (const auto& [attempt, taken] : {std::pair(0u, true), {0u, false}, {1u, true}, {0u, false}}) {
    EXPECT_EQ(side.Receive(Encode(Fetch{kAbsentRange, attempt})).ok(), taken) << attempt;
  }
}

// --------------------------------------------------------------------------------- Client

const Table kOurs = {{"a1", "x"}, {"a2", "x"}, {"b2", "x"}, {"b9", "x"}, {"c1", "x"}};

// The messages of honest sessions with these sources, and others of their kind.
std::vector<std::string> AnswersOf(Operation operation, uint64_t keys_per_range) {
  std::vector<std::string> answers;
  Settings settings(Strategy::kList, keys_per_range);
  settings.tamper = [&answers](uint64_t, bool to_client, std::string* message) {
    if (to_client) answers.push_back(*message);
    return true;
  };
  const Joined joined = Join(operation, kOurs, kTheirs, settings);
  EXPECT_TRUE(joined.piped.status.ok()) << joined.piped.status;
  Facts facts;
  for (const auto outcome : {Facts::Outcome::kEqual, Facts::Outcome::kWithdrawn}) {
    facts.outcome = outcome;
    answers.push_back(Encode(facts));
  }
  facts.outcome = Facts::Outcome::kTooLarge;
  for (const char* key : {"a2", "b5"}) {
    facts.next_key = key;
    answers.push_back(Encode(facts));
  }
  answers.push_back(Encode(Rows{0, 0, true, ""}));
  answers.push_back(Encode(Rows{kAbsentRange, 0, true, ""}));
  return answers;
}

TEST(StateModel, ClientGivesNoWrongRowInAnyOrder) {
  uint64_t done = 0;
  for (const Operation operation :
       {Operation::kIntersection, Operation::kDifference, Operation::kSymmetric}) {
    for (const uint64_t keys_per_range : {2, 10}) {
      const std::vector<std::string> answers = AnswersOf(operation, keys_per_range);
      const Result expected = Expected(operation, kOurs, kTheirs);
      const auto run = [&](const std::vector<size_t>& sequence) {
        MemorySource source(kOurs);
        Collector collector;
        MemoryAccount memory(kModelMemoryBytes);
        absl::Status status;
        {
          ClientSessionOptions options;
          options.operation = operation;
          options.salt = kModelSalt;
          options.keys_per_range = keys_per_range;
          options.planner.strategy = Strategy::kList;
          options.memory = &memory;
          ClientSession side(&source, &collector, options);
          Drain(&side);
          for (const size_t answer : sequence) {
            status = side.Receive(answers[answer]);
            if (!status.ok()) break;
            Drain(&side);
          }
          if (status.ok() && side.done()) {
            done++;
            EXPECT_EQ(collector.sorted(), expected);
          }
        }
        // No order of messages makes it commit a row that does not belong to the result.
        for (const auto& row : collector.result()) {
          EXPECT_TRUE(std::binary_search(expected.begin(), expected.end(), row));
        }
        EXPECT_EQ(memory.used_bytes(), 0);
        return status.ok();
      };
      EXPECT_GT(Walk(answers.size(), run), 20);
    }
  }
  EXPECT_GT(done, 0);  // the honest order among them
}

}  // namespace
}  // namespace rocksieve::join
