// SPDX-License-Identifier: Apache-2.0
// Joins in memory, and what they should give; and two Matchings, without sessions around them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/format/byte_io.h"
#include "lib/join/matching/matching.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/server_session.h"
#include "tests/join/in_memory.h"

namespace rocksieve::join {

using Table = MemorySource::Rows;
using Result = std::vector<std::tuple<std::string, std::string, Side>>;

// All rows of a source, or of an interval.
inline Table ReadRows(Cursor* cursor) {
  Table rows;
  Row row;
  while (cursor->Next(&row)) rows.emplace_back(row.key, row.value);
  EXPECT_TRUE(cursor->status().ok()) << cursor->status();
  EXPECT_FALSE(cursor->Next(&row)) << "a cursor goes on after its end";
  return rows;
}
inline Table ReadRows(Source* source, const KeyInterval& interval = {}) {
  return ReadRows(source->Scan(interval).get());
}
inline Table RowsWithin(const Table& rows, const KeyInterval& interval) {
  Table part;
  for (const auto& row : rows) {
    if (interval.Contains(row.first)) part.push_back(row);
  }
  return part;
}

// Has what was committed.
class Collector final : public ResultSink {
 public:
  absl::Status Add(const Row& row, Side from) override {
    pending_.emplace_back(row.key, row.value, from);
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    commits++;
    result_.insert(result_.end(), pending_.begin(), pending_.end());
    return Discard();
  }
  absl::Status Discard() override { return pending_.clear(), absl::OkStatus(); }
  absl::Status Restart() override { return absl::InternalError("nothing begins anew here"); }
  const Result& result() const { return result_; }
  Result sorted() const {
    Result sorted = result_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  int commits = 0;

 private:
  Result result_, pending_;
};

inline std::set<std::string> KeysOf(const Table& rows) {
  std::set<std::string> keys;
  for (const auto& [key, value] : rows) keys.insert(key);
  return keys;
}

inline Result Expected(Operation operation, const Table& client, const Table& server) {
  const std::set<std::string> here = KeysOf(client), there = KeysOf(server);
  Result result;
  for (const auto& [key, value] : server) {
    if (here.count(key) != 0 ? SendsMatched(operation) : SendsUnmatched(operation)) {
      result.emplace_back(key, value, Side::kServer);
    }
  }
  for (const auto& [key, value] : client) {
    if (EmitsLocalRows(operation) && there.count(key) == 0) {
      result.emplace_back(key, value, Side::kClient);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

// What both sides of a session have; the planner is the client's.
struct Settings {
  explicit Settings(Strategy strategy = Strategy::kAuto, uint64_t keys_per_range = 1000,
                    uint64_t most_keys_per_range = 3000) {
    client.salt = 12345;
    client.keys_per_range = keys_per_range;
    client.planner.strategy = strategy;
    server.most_keys_per_range = most_keys_per_range;
  }
  ClientSessionOptions client;
  ServerSessionOptions server;
  Tamper tamper;
  Workers* workers = nullptr;  // of both sides
};

struct Joined {
  Piped piped;
  Result result, sorted;
  Statistics statistics;
  std::optional<KeyInterval> uncommitted;  // what is left, in the end
};

// `sink`, if there is one, gives what it gets to `collector`.
inline Joined JoinSources(Operation operation, Source* here, Source* there,
                          Settings settings = Settings(), Collector* collector = nullptr,
                          Sink* sink = nullptr) {
  Collector own;
  if (collector == nullptr) collector = &own;
  settings.client.operation = operation;
  settings.client.workers = settings.server.workers = settings.workers;
  settings.server.planner = settings.client.planner;
  ClientSession client(here, sink != nullptr ? sink : collector, settings.client);
  ServerSession server(there, settings.server);
  Joined joined;
  joined.piped = RunPipe(&client, &server, settings.tamper);
  joined.result = collector->result();
  joined.sorted = collector->sorted();
  joined.statistics = client.statistics();
  joined.uncommitted = client.Uncommitted();
  if (!settings.tamper) {
    EXPECT_EQ(client.done() && server.done(), joined.piped.status.ok());
  }
  return joined;
}

inline Joined Join(Operation operation, const Table& client, const Table& server,
                   const Settings& settings = Settings()) {
  MemorySource here(client), there(server);
  return JoinSources(operation, &here, &there, settings);
}

template <typename Set>
void ExpectCounts(const Statistics& statistics, const Set& here, const Set& there) {
  uint64_t matched = 0;
  for (const auto& key : here) matched += there.count(key);
  EXPECT_EQ(statistics.matched_keys, matched);
  EXPECT_EQ(statistics.local_only_keys, here.size() - matched);
  EXPECT_EQ(statistics.remote_only_keys, there.size() - matched);
}

inline void ExpectExactResult(Operation operation, const Table& client, const Table& server,
                              const Joined& joined) {
  ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
  EXPECT_TRUE(joined.sorted == Expected(operation, client, server)) << NameOf(operation);
  ExpectCounts(joined.statistics, KeysOf(client), KeysOf(server));
}

inline void ExpectExact(Operation operation, const Table& client, const Table& server,
                        const Settings& settings = Settings()) {
  ExpectExactResult(operation, client, server, Join(operation, client, server, settings));
}

// Some rows of the right result, whether it ended in an error or not.
inline void ExpectNoWrongRow(const Joined& joined, const Result& expected) {
  EXPECT_TRUE(
      std::includes(expected.begin(), expected.end(), joined.sorted.begin(), joined.sorted.end()));
}

// Flips a bit of one message.
inline Tamper FlipBit(uint64_t number, uint64_t where) {
  return [number, where](uint64_t n, bool, std::string* message) {
    if (n == number) (*message)[where / 8 % message->size()] ^= static_cast<char>(1 << where % 8);
    return true;
  };
}
inline Tamper StopAt(uint64_t number) {
  return [number](uint64_t n, bool, std::string*) { return n != number; };
}
// Changes messages of one kind, whose check is right then.
template <typename Kind>
Tamper ChangeKind(std::function<void(Kind*)> change) {
  return [change](uint64_t, bool, std::string* message) {
    absl::StatusOr<Message> decoded = Decode(*message);
    Kind* const kind = decoded.ok() ? std::get_if<Kind>(&*decoded) : nullptr;
    if (kind == nullptr) return true;
    change(kind);
    *message = Encode(*decoded);
    return true;
  };
}
// Changes the bodies of parts of steps.
inline Tamper ChangeParts(std::function<void(Part, std::string* body)> change) {
  return ChangeKind<Step>([change](Step* step) {
    std::string changed;
    VisitParts(step->message, [&](Part part, std::string_view body) {
      std::string bytes(body);
      change(part, &bytes);
      AppendPart(part, bytes, &changed);
    });
    step->message = changed;
  });
}

// Rows of random keys: `common` on both sides, the others on one.
inline std::pair<Table, Table> RandomSides(size_t client, size_t server, size_t common,
                                           uint64_t seed) {
  std::mt19937_64 random(seed);
  auto key = [&] {
    std::string bytes(16, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  };
  Table here, there;
  for (size_t i = 0; i < common; i++) {
    const std::string shared = key();
    here.emplace_back(shared, "here" + std::to_string(i));
    there.emplace_back(shared, "there" + std::to_string(i));
    if (i % 5 == 0) there.emplace_back(shared, "again");
  }
  for (size_t i = common; i < client; i++) here.emplace_back(key(), "mine");
  for (size_t i = common; i < server; i++) there.emplace_back(key(), "theirs");
  return {here, there};
}

// Two Matchings, without messages around their steps: nothing checks the bytes.

using Keys = std::vector<std::string>;  // sorted, each once

inline KeyReader ReaderOf(const Keys* keys) {
  return [keys](std::span<const uint32_t> ordinals, Compression compression, uint64_t,
                std::string* out) {
    KeyListWriter writer(compression);
    for (const uint32_t ordinal : ordinals) writer.Add((*keys)[ordinal]);
    writer.Finish(out);
    return absl::OkStatus();
  };
}

// May change the body of a part; `number` counts the parts of both sides from 0.
using TamperPart = std::function<void(uint64_t number, Part part, std::string* body)>;

struct MatchingCase {
  Keys client, server;
  Strategy strategy = Strategy::kAuto;
  int most_round_trips = 4;
  bool client_begins = false;
  double common_estimate = 0, common_error = 0;
  TamperPart tamper;

  Keys Common() const {
    Keys common;
    std::set_intersection(client.begin(), client.end(), server.begin(), server.end(),
                          std::back_inserter(common));
    return common;
  }
};

struct ExchangeOutcome {
  absl::Status status;  // of the side that was not content
  uint64_t bytes = 0, turns = 0, parts = 0;
};

// Takes the steps of two sides, of which the first is the client, to each other.
template <typename Side>
void Exchange(std::deque<Side>* sides, const TamperPart& tamper, ExchangeOutcome* outcome) {
  using State = typename Side::State;
  constexpr uint64_t kMostTurns = 200;
  while (outcome->turns < kMostTurns && outcome->status.ok()) {
    const size_t from = (*sides)[0].state() == State::kMyTurn ? 0 : 1;
    Side& to = (*sides)[1 - from];
    std::string step, sent;
    if ((*sides)[from].state() != State::kMyTurn) return;
    outcome->status = (*sides)[from].NextStep(&step);
    if (!outcome->status.ok() || (*sides)[from].state() == State::kContradicted) return;
    VisitParts(step, [&](Part part, std::string_view body) {
      std::string changed(body);
      if (tamper) tamper(outcome->parts, part, &changed);
      AppendPart(part, changed, &sent);
      outcome->parts++;
    });
    outcome->bytes += sent.size();
    outcome->turns++;
    EXPECT_EQ(to.state(), State::kTheirTurn);
    if (to.state() != State::kTheirTurn) return;
    outcome->status = to.Receive(sent);
  }
}

struct MatchingOutcome : ExchangeOutcome {
  Matching::State state = Matching::State::kTheirTurn;  // of the client
  Keys client, server;                                  // what each takes for matched
  uint64_t round_trips = 0;
};

inline MatchingCase RandomCase(size_t client, size_t server, size_t common, uint64_t seed) {
  std::mt19937_64 random(seed);
  MatchingCase matching;
  for (size_t i = 0; i < client + server - common; i++) {
    const std::string key = std::to_string(random()) + "/" + std::to_string(i);
    if (i < client) matching.client.push_back(key);
    if (i >= client - common) matching.server.push_back(key);
  }
  std::sort(matching.client.begin(), matching.client.end());
  std::sort(matching.server.begin(), matching.server.end());
  matching.common_estimate = static_cast<double>(common);
  return matching;
}

inline MatchingOutcome Match(const MatchingCase& matching) {
  constexpr uint64_t kSalt = 99;
  const Keys* const keys[2] = {&matching.client, &matching.server};
  std::deque<Matching> sides;  // which are not moved
  for (const int side : {0, 1}) {
    Candidates candidates;
    for (const std::string& key : *keys[side]) {
      candidates.push_back({HashKey128(key, kSalt), static_cast<uint32_t>(candidates.size())});
    }
    Matching::Options options;
    options.salt = kSalt;
    options.is_client = side == 0;
    options.begins = options.is_client == matching.client_begins;
    options.their_count = static_cast<double>(keys[1 - side]->size());
    options.common = matching.common_estimate;
    options.common_error = matching.common_error;
    options.planner.strategy = matching.strategy;
    options.planner.most_round_trips = matching.most_round_trips;
    sides.emplace_back(std::move(candidates), options, ReaderOf(keys[side]));
  }
  MatchingOutcome outcome;
  Exchange(&sides, matching.tamper, &outcome);
  outcome.state = sides[0].state();
  outcome.round_trips = sides[0].counts().turns / 2;
  for (const Candidate& key : sides[0].matched()) {
    outcome.client.push_back(matching.client[key.ordinal]);
  }
  for (const Candidate& key : sides[1].matched()) {
    outcome.server.push_back(matching.server[key.ordinal]);
  }
  return outcome;
}

}  // namespace rocksieve::join
