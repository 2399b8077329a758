// SPDX-License-Identifier: Apache-2.0
// A whole session with a hostile server: an honest one on a second set of rows, whose messages are
// lost, repeated, reordered, changed and joined by others on their way.
//
// Oracle. What docs/protocol.md proves, and no more; let A be this side's keys, B the other's, M
// what this side takes for matched. Mutations cannot make a sum of keys, but for that of none and
// those that were sent, so
//   1. The rows of a difference and of a symmetric difference add up, with M, to the sum in the
//      facts, which the other side made before it knew what would be matched. If each sum in facts
//      that arrived was sent for the same range and attempt, a range whose result is committed is
//      exact, whatever else was changed: B \ A, and for a symmetric difference A \ B too. Facts of
//      an invented sum (of none, for instance) can hide rows, but never invent one.
//   2. M is a part of both A and B: the other side's sum of its matched keys is of keys that it
//      has. So an intersection never has a key that is not in both, and a local-only join never
//      lacks a row that only this side has.
//   3. If all facts and turns that arrived are those that were sent, in their order, then M is all
//      of A and B, and each operation exact in its keys; if all rows are, then also in its values.
//      Filters, hello and its answer, and rows may be changed: they decide about costs, or are
//      proven. Changed steps, however, can leave keys out of both sides' M: "a side that leaves
//      keys out of everything it says" is not found, and the page says so.
// A comparison of whole rows is held to the same, but that its sums are of keys: if all facts and
// turns are those that were sent, it gives just the rows that differ; else its rows of the other
// side are of keys that the other side has.
// A join that is done has committed everything, and one on whole keys has no key twice. And memory:
// what is allocated stays below the account's limit and a slack for what is no matter of the other
// side (both sides' rows and options, zstd's contexts, this harness).
#include <optional>
#include <set>
#include <tuple>

#include "lib/join/join_key/join_key_source.h"
#include "lib/join/rows/source.h"
#include "tests/fuzz/session_case.h"
#include "tests/fuzz/target.h"

namespace rocksieve::fuzz {
namespace {

using join::Operation;
using join::Side;

constexpr uint64_t kAccountBytes = 8 << 20;
constexpr size_t kSlackBytes = 32 << 20;
constexpr int kMostMessages = 3000;

struct Committed {
  std::string key, value;
  Side from;
};

class Collector final : public join::Sink {
 public:
  absl::Status Add(const join::Row& row, Side from) override {
    pending_.push_back({std::string(row.key), std::string(row.value), from});
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    rows_.insert(rows_.end(), pending_.begin(), pending_.end());
    pending_.clear();
    return absl::OkStatus();
  }
  absl::Status Discard() override {
    pending_.clear();
    return absl::OkStatus();
  }
  const std::vector<Committed>& rows() const { return rows_; }

 private:
  std::vector<Committed> rows_, pending_;
};

// What was sent, and what of it arrived.
class Record {
 public:
  void Sent(const std::string& message) {
    const absl::StatusOr<join::Message> decoded = join::Decode(message);
    FUZZ_CHECK(decoded.ok());
    if (const auto* facts = std::get_if<join::Facts>(&*decoded)) Note(*facts, &facts_sent_);
    Keep(message, *decoded, &turns_sent_, &rows_sent_);
  }
  void Arrived(const std::string& message) {
    const absl::StatusOr<join::Message> decoded = join::Decode(message);
    if (!decoded.ok()) return;  // ends the session
    if (const auto* facts = std::get_if<join::Facts>(&*decoded)) {
      FactsOf wanted;
      Note(*facts, &wanted);
      sums_are_right_ = sums_are_right_ && facts_sent_.count(*wanted.begin()) != 0;
    }
    if (const auto* answer = std::get_if<join::HelloAnswer>(&*decoded)) {
      absent_is_right_ = absent_is_right_ && answer->absent == absent_;
    }
    Keep(message, *decoded, &turns_arrived_, &rows_arrived_);
  }
  void SentAnswer(const std::string& message) {
    const absl::StatusOr<join::Message> decoded = join::Decode(message);
    if (const auto* answer = std::get_if<join::HelloAnswer>(&*decoded)) absent_ = answer->absent;
  }

  bool sums_are_right() const { return sums_are_right_; }
  bool absent_is_right() const { return absent_is_right_; }
  bool turns_are_right() const { return IsBeginning(turns_arrived_, turns_sent_); }
  bool rows_are_right() const { return IsBeginning(rows_arrived_, rows_sent_); }

 private:
  using Messages = std::vector<std::string>;
  // Range, attempt, sum, and of which part of the range that is.
  using FactsOf =
      std::set<std::tuple<uint64_t, uint32_t, uint64_t, uint64_t, uint64_t, std::string>>;

  static void Note(const join::Facts& facts, FactsOf* all) {
    const bool part = facts.outcome == join::Facts::Outcome::kTooLarge;
    all->emplace(facts.range, facts.attempt, facts.sum.count, facts.sum.low, facts.sum.high,
                 part ? "up to " + facts.next_key : "all");
  }
  static void Keep(const std::string& message, const join::Message& decoded, Messages* turns,
                   Messages* rows) {
    if (std::holds_alternative<join::Facts>(decoded) ||
        std::holds_alternative<join::Step>(decoded)) {
      turns->push_back(message);
    }
    if (std::holds_alternative<join::Rows>(decoded)) rows->push_back(message);
  }
  static bool IsBeginning(const Messages& part, const Messages& whole) {
    return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
  }

  FactsOf facts_sent_;
  SetSum absent_;
  bool sums_are_right_ = true, absent_is_right_ = true;
  Messages turns_sent_, turns_arrived_, rows_sent_, rows_arrived_;
};

struct Outcome {
  std::vector<Committed> rows;
  std::optional<join::KeyInterval> uncommitted;
  bool done = false;
};

// The messages of both sides; those to the client over a wire that is hostile.
Outcome Run(Choices* choices, const SessionCase& session, Record* record) {
  Collector collector;
  join::ClientSession client(session.here.get(), &collector, session.client);
  join::ServerSession server(session.there.get(), session.server);
  HostileWire wire(choices);
  bool client_goes_on = true, server_goes_on = true;
  const auto arrive = [&](const std::vector<std::string>& messages) {
    for (const std::string& message : messages) {
      if (!client_goes_on) return;
      record->Arrived(message);
      const absl::Status status = client.Receive(message);
      FUZZ_CHECK(status.ok() || !status.message().empty());
      client_goes_on = status.ok();
    }
  };
  for (int number = 0; number < kMostMessages && client_goes_on; number++) {
    bool any = false;
    for (;;) {
      const absl::StatusOr<std::string> message = client.Next();
      client_goes_on = message.ok();
      if (!message.ok() || message->empty()) break;
      any = true;
      // An honest side may be asked for nonsense after nonsense arrived here.
      if (server_goes_on) server_goes_on = server.Receive(*message).ok();
    }
    for (; server_goes_on && client_goes_on; number++) {
      const absl::StatusOr<std::string> message = server.Next();
      server_goes_on = message.ok();
      if (!message.ok() || message->empty()) break;
      any = true;
      record->Sent(*message);
      record->SentAnswer(*message);
      arrive(wire.Deliver(*message));
      if (number >= kMostMessages) break;
    }
    if (any || !client_goes_on) continue;
    const std::vector<std::string> more = wire.DeliverMore();
    if (more.empty()) break;
    arrive(more);
  }
  return {collector.rows(), client.Uncommitted(), client.done() && client_goes_on};
}

// Rows of keys below the first one that is not committed, by side, as key and values in order.
using Table = std::map<std::string, std::vector<std::string>>;

Table Expected(const SessionCase& session, Side from, const Outcome& outcome) {
  const Table& own = (from == Side::kClient ? session.here : session.there)->table();
  const Table& other = (from == Side::kClient ? session.there : session.here)->table();
  const Operation operation = session.client.operation;
  Table expected;
  for (const auto& [key, values] : own) {
    if (outcome.uncommitted && outcome.uncommitted->Contains(key)) continue;
    const bool matched = other.count(key) != 0;
    const bool wanted = from == Side::kClient ? join::EmitsLocalRows(operation) && !matched
                                              : (join::SendsMatched(operation) && matched) ||
                                                    (join::SendsUnmatched(operation) && !matched);
    if (wanted) expected[key] = values;
  }
  return expected;
}

bool HasSameKeys(const Table& a, const Table& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

bool HasKeysOf(const Table& a, const Table& part) {
  return std::all_of(part.begin(), part.end(),
                     [&a](const auto& entry) { return a.count(entry.first) != 0; });
}

// Of a comparison that is not told of digests and values of the other side.
Table WithoutDigests(const Table& table) {
  Table keys;
  for (const auto& [key, values] : table) {
    keys[key.substr(0, key.size() - join::kWholeRowDigestBytes) +
         std::string(join::kWholeRowDigestBytes, '\0')] = {""};
  }
  return keys;
}

std::set<std::string> KeysWithoutDigests(const Table& table) {
  std::set<std::string> keys;
  for (const auto& [key, values] : table) {
    keys.insert(key.substr(0, key.size() - join::kWholeRowDigestBytes));
  }
  return keys;
}

void CheckComparison(const SessionCase& session, const Record& record, const Outcome& outcome) {
  Table remote, local;
  for (const Committed& row : outcome.rows) {
    FUZZ_CHECK(row.key.size() > join::kWholeRowDigestBytes);
    (row.from == Side::kServer ? remote : local)[row.key].push_back(row.value);
  }
  for (const Table* side : {&remote, &local}) {
    for (const auto& [key, values] : *side) FUZZ_CHECK(values.size() == 1);
  }
  const std::set<std::string> theirs = KeysWithoutDigests(session.there->table());
  for (const std::string& key : KeysWithoutDigests(remote)) FUZZ_CHECK(theirs.count(key) != 0);
  FUZZ_CHECK(HasKeysOf(session.here->table(), local));
  if (record.turns_are_right()) {
    FUZZ_CHECK(local == Expected(session, Side::kClient, outcome));
    const Table expected = Expected(session, Side::kServer, outcome);
    if (session.client.comparison == join::Comparison::kKeys) {
      FUZZ_CHECK(HasSameKeys(remote, WithoutDigests(expected)));
    } else if (record.rows_are_right()) {
      FUZZ_CHECK(remote == expected);
    }
  }
  if (outcome.done) FUZZ_CHECK(!outcome.uncommitted);
}

void CheckResult(const SessionCase& session, const Record& record, const Outcome& outcome) {
  if (session.client.comparison != join::Comparison::kNone) {
    return CheckComparison(session, record, outcome);
  }
  const Operation operation = session.client.operation;
  Table remote, local;
  size_t absent_remote = 0;
  for (const Committed& row : outcome.rows) {
    if (row.from == Side::kServer && row.key.empty()) {
      absent_remote++;
      continue;
    }
    (row.from == Side::kServer ? remote : local)[row.key].push_back(row.value);
  }
  local.erase("");
  const Table remote_expected = Expected(session, Side::kServer, outcome);
  const Table local_expected = Expected(session, Side::kClient, outcome);
  const bool turns = record.turns_are_right();
  const bool proven = join::SendsUnmatched(operation) && record.sums_are_right();

  if (session.client.keys_are_unique) {
    FUZZ_CHECK(absent_remote == 0);
    for (const auto& [key, values] : remote) FUZZ_CHECK(values.size() == 1);
  }
  // No row is invented, none of this side's own is forgotten.
  FUZZ_CHECK(HasKeysOf(remote_expected, remote));
  FUZZ_CHECK(HasKeysOf(local, local_expected));
  if (proven || turns) {
    FUZZ_CHECK(HasSameKeys(remote, remote_expected));
    FUZZ_CHECK(local == local_expected);
  }
  if (turns && record.rows_are_right()) FUZZ_CHECK(remote == remote_expected);
  if (record.absent_is_right() && outcome.done && join::SendsUnmatched(operation)) {
    FUZZ_CHECK(absent_remote == session.there->absent_rows());
  }
  if (outcome.done) FUZZ_CHECK(!outcome.uncommitted);
}

}  // namespace
}  // namespace rocksieve::fuzz

FUZZ_TARGET(client_session) {
  using namespace rocksieve::fuzz;
  Choices choices(input);
  SessionCase session(&choices);
  rocksieve::join::MemoryAccount account(kAccountBytes);
  session.client.memory = &account;
  Record record;
  Outcome outcome;
  {
    const MemoryWatch watch(kAccountBytes + kSlackBytes);
    outcome = Run(&choices, session, &record);
  }
  CheckResult(session, record, outcome);
}
