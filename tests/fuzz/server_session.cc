// SPDX-License-Identifier: Apache-2.0
// A whole session with a hostile client: an honest one on a second set of rows, whose messages are
// lost, repeated, reordered, changed and joined by others on their way.
//
// Oracle. Whatever arrives, what the server says is true of its rows:
//   1. Facts have the sum of just its keys in the range that was opened, up to the next key if that
//      is too large, and say that both sides are equal only of sums that are.
//   2. Rows with keys are of its keys in a range that was opened under that number, with their
//      values, in order.
//   3. An error says something, and is the last word.
// Of a comparison, keys are those of whole rows without their digests, sums of equal ranges are of
// whole rows, and the values of rows begin with the digests, if these are wanted; rows of changed
// keys come without these.
// And memory: what is allocated stays below the account's limit and a slack for what is no matter
// of the other side, however many messages it sends and however few it takes.
#include <map>
#include <optional>

#include "lib/hash/key_hash128.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/matching/value_comparison.h"
#include "lib/join/rows/row_batch.h"
#include "tests/fuzz/session_case.h"
#include "tests/fuzz/target.h"
#include "tests/join/in_memory.h"

namespace rocksieve::fuzz {
namespace {

constexpr uint64_t kAccountBytes = 8 << 20;
constexpr size_t kSlackBytes = 32 << 20;
constexpr int kMostMessages = 3000;

// What the server was told, and whether what it says fits.
class Witness {
 public:
  explicit Witness(const SessionCase& session) : session_(session) {}

  void Arrives(const std::string& message) {
    const absl::StatusOr<join::Message> decoded = join::Decode(message);
    if (!decoded.ok()) return;
    if (const auto* hello = std::get_if<join::Hello>(&*decoded)) {
      if (!hello_) hello_ = *hello;
    }
    if (const auto* open = std::get_if<join::Open>(&*decoded)) {
      opened_[{open->range, open->attempt}].push_back(*open);
    }
  }

  void Says(const std::string& message) {
    const absl::StatusOr<join::Message> decoded = join::Decode(message);
    FUZZ_CHECK(decoded.ok());
    if (const auto* facts = std::get_if<join::Facts>(&*decoded)) FUZZ_CHECK(IsTrue(*facts));
    if (const auto* rows = std::get_if<join::Rows>(&*decoded)) Check(*rows);
  }

 private:
  bool compares() const { return hello_->comparison != join::Comparison::kNone; }

  SetSum SumOf(const join::KeyInterval& interval, uint64_t range, uint32_t attempt,
               bool whole_rows) const {
    const uint64_t salt = join::RangeSalt(hello_->salt, range, attempt);
    const SetSummer summer(salt);
    SetSum sum;
    for (const auto& [join_key, values] : session_.there->table()) {
      std::string_view key = join_key;
      uint64_t digest = 0;
      if (!interval.Contains(key)) continue;
      if (compares()) FUZZ_CHECK(join::TakeDigest(&key, &digest));
      const KeyHash128 hash = HashKey128(key, salt);
      summer.Add(whole_rows ? join::HashOfRow(hash, digest) : hash, &sum);
    }
    return sum;
  }

  // Of one of the openings with this number.
  bool IsTrue(const join::Facts& facts) const {
    const auto opened = opened_.find({facts.range, facts.attempt});
    if (opened == opened_.end()) return false;
    for (const join::Open& open : opened->second) {
      join::KeyInterval interval = open.interval;
      if (facts.outcome == join::Facts::Outcome::kTooLarge) interval.end = facts.next_key;
      // Of filters that are withdrawn, nothing more is to be known.
      if (facts.outcome == join::Facts::Outcome::kWithdrawn) return true;
      const bool equal = facts.outcome == join::Facts::Outcome::kEqual;
      const bool whole_rows = equal && compares();
      if (!(SumOf(interval, facts.range, facts.attempt, whole_rows) == facts.sum)) continue;
      if (equal && !((whole_rows ? *open.row_sum : open.sum) == facts.sum)) continue;
      if (facts.outcome == join::Facts::Outcome::kSameKeys && !(open.sum == facts.sum)) continue;
      return true;
    }
    return false;
  }

  bool IsOpened(const join::Rows& rows, std::string_view key) const {
    const auto opened = opened_.find({rows.range, rows.attempt});
    if (opened == opened_.end()) return false;
    return std::any_of(opened->second.begin(), opened->second.end(),
                       [&](const join::Open& open) { return open.interval.Contains(key); });
  }

  void Check(const join::Rows& rows) {
    if (rows.range == join::kAbsentRange || join::SendsMatched(hello_->operation)) return;
    if (reader_ == nullptr) {
      reader_ = std::make_unique<join::RowBatchReader>(
          /*with_keys=*/true, join::kDefaultMostRowBytes, nullptr,
          /*expects_known=*/hello_->comparison == join::Comparison::kRows);
      last_key_.clear();
    }
    const absl::Status status = reader_->Read(rows.batch, [&](const join::Row& row, bool new_key) {
      if (compares()) {
        CheckCompared(rows, row, new_key);
        return absl::OkStatus();
      }
      FUZZ_CHECK(!new_key || row.key > last_key_);
      last_key_ = row.key;
      FUZZ_CHECK(IsOpened(rows, row.key));
      const auto found = session_.there->table().find(last_key_);
      FUZZ_CHECK(found != session_.there->table().end());
      FUZZ_CHECK(std::find(found->second.begin(), found->second.end(), row.value) !=
                 found->second.end());
      return absl::OkStatus();
    });
    FUZZ_CHECK(status.ok());
    if (rows.last) reader_.reset();
  }

  void CheckCompared(const join::Rows& rows, const join::Row& row, bool new_key) {
    const auto& table = session_.there->table();
    std::string_view value = row.value;
    std::string digest;
    if (hello_->comparison == join::Comparison::kRows) {
      FUZZ_CHECK(value.size() >= join::kWholeRowDigestBytes);
      digest = value.substr(0, join::kWholeRowDigestBytes);
      value.remove_prefix(digest.size());
    } else {
      FUZZ_CHECK(new_key && value.empty());
    }
    if (!new_key) {  // of a key that the client knows
      FUZZ_CHECK(std::any_of(table.begin(), table.end(), [&](const auto& entry) {
        return join::DigestBytesOf(entry.first) == digest && entry.second.front() == value;
      }));
      return;
    }
    FUZZ_CHECK(row.key > last_key_);
    last_key_ = row.key;
    const auto found = table.lower_bound(last_key_ + digest);
    FUZZ_CHECK(found != table.end() && found->first.substr(0, last_key_.size()) == last_key_);
    FUZZ_CHECK(IsOpened(rows, found->first));
    if (hello_->comparison == join::Comparison::kKeys) return;
    FUZZ_CHECK(found->first == last_key_ + digest && found->second.front() == value);
  }

  const SessionCase& session_;
  std::optional<join::Hello> hello_;
  std::map<std::pair<uint64_t, uint32_t>, std::vector<join::Open>> opened_;
  std::unique_ptr<join::RowBatchReader> reader_;  // of the range whose rows come
  std::string last_key_;
};

void Run(Choices* choices, const SessionCase& session) {
  join::CountingSink sink;
  join::ClientSession client(session.here.get(), &sink, session.client);
  join::ServerSession server(session.there.get(), session.server);
  HostileWire wire(choices);
  Witness witness(session);
  // The other side may leave what is said where it is, for a while.
  const uint64_t answers_taken = choices->UpTo(3);
  bool client_goes_on = true, server_goes_on = true;
  const auto arrive = [&](const std::vector<std::string>& messages) {
    for (const std::string& message : messages) {
      if (!server_goes_on) return;
      witness.Arrives(message);
      const absl::Status status = server.Receive(message);
      FUZZ_CHECK(status.ok() || !status.message().empty());
      server_goes_on = status.ok();
    }
  };
  for (int number = 0; number < kMostMessages && server_goes_on; number++) {
    bool any = false;
    for (; client_goes_on && number < kMostMessages; number++) {
      const absl::StatusOr<std::string> message = client.Next();
      client_goes_on = message.ok();
      if (!message.ok() || message->empty()) break;
      any = true;
      arrive(wire.Deliver(*message));
    }
    if (!any) {
      const std::vector<std::string> more = wire.DeliverMore();
      any = !more.empty();
      arrive(more);
    }
    for (uint64_t taken = 0; server_goes_on; taken++) {
      if (answers_taken > 0 && taken == answers_taken && any) break;
      const absl::StatusOr<std::string> message = server.Next();
      server_goes_on = message.ok();
      if (!message.ok() || message->empty()) break;
      any = true;
      witness.Says(*message);
      if (client_goes_on) client_goes_on = client.Receive(*message).ok();
      if (++number > kMostMessages) break;
    }
    if (!any) break;
  }
}

}  // namespace
}  // namespace rocksieve::fuzz

FUZZ_TARGET(server_session) {
  using namespace rocksieve::fuzz;
  Choices choices(input);
  SessionCase session(&choices);
  rocksieve::join::MemoryAccount account(kAccountBytes);
  session.server.memory = &account;
  const MemoryWatch watch(kAccountBytes + kSlackBytes);
  Run(&choices, session);
}
