// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/second_look.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "lib/join/join_key/join_key_source.h"
#include "plugin/join/comparable_value.h"
#include "plugin/join_api/join_impl.h"
#include "plugin/join_api/result_sinks.h"
#include "plugin/join_api/unshared_comparison.h"
#include "support/files.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr std::string_view kStateMark = "rocksieve diff state 1\n";
constexpr uint64_t kMostNameBytes = 256;

std::string StateFileOf(const std::string& directory, const std::string& column_family) {
  constexpr size_t kMoreBytes = 27;  // ".state", and what a PendingFile adds to that
  return absl::StrCat(directory, "/", NameOrHash(absl::BytesToHexString(column_family), kMoreBytes),
                      ".state");
}

uint64_t ChecksumOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace

absl::StatusOr<DiffState> DiffState::Load(const std::string& directory,
                                          const std::string& column_family) {
  const std::string path = StateFileOf(directory, column_family);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ByteReader in(bytes);
  const bool is_state = in.Bytes(kStateMark.size()) == kStateMark;
  DiffState state;
  state.local = in.String(kMostNameBytes);
  state.remote = in.String(kMostNameBytes);
  state.full_at_seconds = in.U64();
  for (uint64_t rows = in.Varint(bytes.size()); in.ok() && rows > 0; rows--) {
    const std::string_view key = in.String(), local_digest = in.Bytes(kWholeRowDigestBytes),
                           remote_digest = in.Bytes(kWholeRowDigestBytes);
    state.different.push_back(
        {std::string(key), std::string(local_digest), std::string(remote_digest)});
  }
  const uint64_t checksum = in.U64();
  const bool is_whole = in.Finished() && is_state &&
                        checksum == ChecksumOf(std::string_view(bytes).substr(0, bytes.size() - 8));
  if (is_whole) return state;
  return absl::NotFoundError(file.is_open() ? absl::StrCat(path, " is damaged")
                                            : absl::StrCat("there is no ", path));
}

absl::Status DiffState::Save(const std::string& directory, const std::string& column_family) const {
  std::string bytes(kStateMark);
  ByteWriter out(&bytes);
  out.String(local);
  out.String(remote);
  out.U64(full_at_seconds);
  out.Varint(different.size());
  for (const DifferentRow& row : different) {
    out.String(row.key);
    out.Bytes(row.local_digest);
    out.Bytes(row.remote_digest);
  }
  out.U64(ChecksumOf(bytes));
  std::string error;
  const std::unique_ptr<PendingFile> file =
      PendingFile::Create(StateFileOf(directory, column_family), &error);
  if (file == nullptr || !file->Append(bytes, &error) || file->Publish(&error) != 0) {
    return absl::FailedPreconditionError(error);
  }
  return absl::OkStatus();
}

namespace {

constexpr size_t kMostDifferentRows = 1'000'000;  // are kept for the next time

uint64_t SecondsNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

JoinKeyExpression WholeRows() { return *JoinKeyExpression::Parse(kWholeRow); }

std::string DigestOf(std::string_view value) {
  std::string join_key;
  WholeRowJoinKey({"", value}, &join_key);
  return join_key.substr(join_key.size() - kWholeRowDigestBytes);
}

// Rows that differ, from several joins, in their order.
class DifferentRows final : public Sink {
 public:
  absl::Status Add(const Row& row, Side from) override {
    value_.assign(1, from == Side::kClient ? kLocal : kRemote);
    value_.append(row.value);
    return sorter_.Add({row.key, value_});
  }
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Discard() override { return absl::OkStatus(); }

  // Without the value, where that is not wanted.
  absl::Status AddRow(std::string_view key, std::string_view digest, std::string_view value,
                      Side from) {
    join_key_ = WholeRowsOfKey(key).begin;
    join_key_.append(digest);
    return Add({join_key_, value}, from);
  }

  absl::Status GiveAll(Sink* sink) {
    ASSIGN_OR_RETURN(std::unique_ptr<Source> sorted, sorter_.Finish());
    const std::unique_ptr<Cursor> rows = sorted->Scan({});
    Row row;
    while (rows->Next(&row)) {
      const Side from = row.value.front() == kLocal ? Side::kClient : Side::kServer;
      RETURN_IF_ERROR(sink->Add({row.key, row.value.substr(1)}, from));
    }
    return rows->status().ok() ? sink->Commit() : rows->status();
  }

 private:
  static constexpr char kLocal = 0, kRemote = 1;
  RowSorter sorter_{SortOptions()};
  std::string join_key_, value_;
};

// Decides which rows differ: of those that changed on one side, or on both in different ways, and
// of those that differed before. What both sides have changed to the same does not come here.
class ChangeJudge {
 public:
  // `changed`: rows of `now` that may have changed since `then`.
  ChangeJudge(const ReadOnlySnapshot& then, const ReadOnlySnapshot& now, Source* changed,
              const std::vector<DiffState::DifferentRow>& before, bool wants_values,
              DifferentRows* different)
      : changed_(changed),
        then_(then.db(), then.column_family()),
        now_(now.db(), now.column_family()),
        before_(before),
        wants_values_(wants_values),
        different_(different) {}

  // In the order of keys.
  absl::Status Add(const DifferencePair& pair) {
    RETURN_IF_ERROR(PassUnchanged(pair.key));
    const std::string* digest_before = nullptr;
    if (next_ < before_.size() && before_[next_].key == pair.key) {
      digest_before = &before_[next_++].remote_digest;
    }
    if (pair.remote) return AddRemoteChange(pair);
    if (digest_before == nullptr) return AddLocalChange(pair);
    const std::string_view value = pair.local->value;
    return DigestOf(value) == *digest_before ? absl::OkStatus()
                                             : AddKnown(pair.key, DigestOf(value), *digest_before);
  }
  absl::Status Finish() { return PassUnchanged(std::nullopt); }

  // What differs, for the next time; and what of it is to be looked up on both sides.
  std::vector<DiffState::DifferentRow> TakeFound() { return std::move(found_); }
  const std::vector<std::string>& without_values() const { return without_values_; }

 private:
  // Rows that differed before, below the key, and that no side says to have changed alone. If this
  // one has changed it, so has the other one, to the same.
  absl::Status PassUnchanged(std::optional<std::string_view> key) {
    for (; next_ < before_.size() && (!key || before_[next_].key < *key); next_++) {
      const DiffState::DifferentRow& row = before_[next_];
      const std::unique_ptr<Cursor> change = changed_->Scan(WholeRowsOfKey(row.key));
      Row changed;
      if (change->Next(&changed)) continue;
      RETURN_IF_ERROR(change->status());
      RETURN_IF_ERROR(AddKnown(row.key, row.local_digest, row.remote_digest));
    }
    return absl::OkStatus();
  }

  // By digests; the other side's value at least is not here.
  absl::Status AddKnown(std::string_view key, const std::string& mine, const std::string& theirs) {
    Remember(key, mine, theirs);
    if (wants_values_) {
      without_values_.emplace_back(key);
      return absl::OkStatus();
    }
    return AddRows(key, {mine, ""}, {theirs, ""});
  }

  // The other side has what it had then, and that is what this side had.
  absl::Status AddLocalChange(const DifferencePair& pair) {
    std::optional<std::string_view> theirs;
    const absl::Status status = then_.Find(pair.key, &theirs);
    const std::string_view mine = pair.local->value;
    if (!status.ok() || theirs.value_or(kNoRow) == mine) return status;
    return AddFound(pair.key, {DigestOf(mine), mine},
                    {DigestOf(theirs.value_or(kNoRow)), theirs.value_or("")});
  }

  // This side has changed it, too, or has what it had.
  absl::Status AddRemoteChange(const DifferencePair& pair) {
    std::optional<std::string_view> mine;
    if (pair.local) {
      mine = pair.local->value;
    } else {
      RETURN_IF_ERROR(now_.Find(pair.key, &mine));
    }
    const std::string digest = DigestOf(mine.value_or(kNoRow));
    if (digest == pair.remote->digest) return absl::OkStatus();
    return AddFound(pair.key, {digest, mine.value_or("")},
                    {std::string(pair.remote->digest), pair.remote->value});
  }

  // One more than are kept tells that there are too many.
  void Remember(std::string_view key, const std::string& mine, const std::string& theirs) {
    if (found_.size() <= kMostDifferentRows) found_.push_back({std::string(key), mine, theirs});
  }

  struct SideOfRow {
    std::string digest;
    std::string_view value;
  };

  absl::Status AddFound(std::string_view key, const SideOfRow& mine, const SideOfRow& theirs) {
    Remember(key, mine.digest, theirs.digest);
    return AddRows(key, mine, theirs);
  }

  // Of those sides that have one.
  absl::Status AddRows(std::string_view key, const SideOfRow& mine, const SideOfRow& theirs) {
    if (mine.digest != no_row_) {
      RETURN_IF_ERROR(different_->AddRow(key, mine.digest, mine.value, Side::kClient));
    }
    if (theirs.digest == no_row_) return absl::OkStatus();
    return different_->AddRow(key, theirs.digest, theirs.value, Side::kServer);
  }

  const std::string no_row_ = DigestOf(kNoRow);
  Source* const changed_;
  RowLookup then_, now_;
  const std::vector<DiffState::DifferentRow>& before_;
  const bool wants_values_;
  DifferentRows* const different_;
  size_t next_ = 0;  // of those before
  std::vector<DiffState::DifferentRow> found_;
  std::vector<std::string> without_values_;
};

}  // namespace

SecondLook::SecondLook(const std::string& directory, std::chrono::hours full_every,
                       DirectoryOfRows rows)
    : directory_(directory), full_every_(full_every), rows_(std::move(rows)), states_(directory) {}

SecondLook::~SecondLook() {
  if (!is_saved_) states_.Drop(next_.local, rows_.family());
}

absl::Status SecondLook::Open(const Cancellation* cancellation) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  std::unique_ptr<ReadOnlySnapshot> now;
  const rocksdb::Status status =
      states_.OpenAndKeep(rows_.directory, rows_.family(), rows_.rate_limiter, &now, &next_.local);
  if (!status.ok()) return absl::FailedPreconditionError(MessageOf(status));
  now_ = std::move(now);
  const absl::Status opened = OpenChanges(cancellation);
  if (!absl::IsNotFound(opened)) return opened;
  why_full_ = std::string(opened.message());
  return absl::OkStatus();
}

absl::Status SecondLook::OpenChanges(const Cancellation* cancellation) {
  ASSIGN_OR_RETURN(DiffState before, DiffState::Load(directory_, rows_.family()));
  replaced_ = before.local;
  const uint64_t now = SecondsNow();
  if (now < before.full_at_seconds) return absl::NotFoundError("the clock was set back");
  const uint64_t age = now - before.full_at_seconds;
  if (age >= static_cast<uint64_t>(std::chrono::seconds(full_every_).count())) {
    return absl::NotFoundError(absl::StrCat("all was compared ", age / 3600, " hours ago"));
  }
  std::unique_ptr<ReadOnlySnapshot> then;
  const rocksdb::Status status =
      states_.Open(before.local, rows_.family(), rows_.rate_limiter, &then);
  if (!status.ok()) return absl::NotFoundError(MessageOf(status));
  then_ = std::move(then);
  ASSIGN_OR_RETURN(ChangedRows changed,
                   FindChangedRows(*then_, *now_, /*values=*/true, SortOptions(), cancellation));
  changed_ = std::move(changed.rows);
  by_journal_ = changed.by_journal;
  before_ = std::move(before);
  return absl::OkStatus();
}

Input SecondLook::PresentRows() const {
  const auto rows = [now = now_, limiter = rows_.rate_limiter](const JoinKeyExpression& on) {
    return RowsSnapshot{RowsOf(now, on, SortOptions(), limiter), now};
  };
  return Input(std::make_shared<Input::Impl>(rows, WholeRows()));
}

Input SecondLook::RowsThatChanged() const {
  const auto rows = [changed = changed_](const JoinKeyExpression&) {
    return RowsSnapshot{[changed](const Cancellation*) { return changed; }};
  };
  return Input(std::make_shared<Input::Impl>(rows, WholeRows()));
}

absl::Status SecondLook::Run(const Peer& peer, const JoinOptions& options, bool describe,
                             ResultSink* rows, JoinReport* report) {
  RETURN_IF_ERROR(
      UntilCancelled(options, [this](Cancellation* cancellation) { return Open(cancellation); }));
  if (!is_full()) {
    const absl::Status status = CompareChanges(peer, options, describe, rows, report);
    next_.full_at_seconds = before_.full_at_seconds;
    if (!absl::IsNotFound(status)) return status;
    why_full_ = std::string(status.message());
    changed_ = nullptr;
    before_ = {};
    next_.different.clear();
  }
  next_.full_at_seconds = SecondsNow();
  return JoinTo(Operation::kSymmetric, PresentRows(), peer, options,
                {{KeyInterval()}, describe, Comparison::kRows, &next_.remote}, rows, report);
}

absl::Status SecondLook::CompareChanges(const Peer& peer, const JoinOptions& options, bool describe,
                                        ResultSink* rows, JoinReport* report) {
  DifferentRows different;
  ChangeJudge judge(*then_, *now_, changed_.get(), before_.different,
                    /*wants_values=*/peer.on == kWholeRow, &different);
  DifferencePairs pairs([&](const DifferencePair& pair) { return judge.Add(pair); });
  ProvenRowsSink changes([&](const Row& row, Side from) { return pairs.Add(row, from); });
  absl::Status status =
      JoinTo(Operation::kSymmetric, RowsThatChanged(), peer, options,
             {{KeyInterval()}, describe, Comparison::kRows, &next_.remote, before_.remote},
             &changes, report);
  if (status.ok()) status = pairs.Finish();
  if (status.ok()) status = judge.Finish();
  if (status.ok() && !judge.without_values().empty()) {
    JoinReport looked_up;
    status = LookUpRemoteRows(judge.without_values(), peer, options, &different, &looked_up);
    report->wire_bytes_sent += looked_up.wire_bytes_sent;
    report->wire_bytes_received += looked_up.wire_bytes_received;
  }
  next_.different = judge.TakeFound();
  return status.ok() ? different.GiveAll(rows) : status;
}

// Rows that differ and have not changed: as the other side has them a moment later.
absl::Status SecondLook::LookUpRemoteRows(const std::vector<std::string>& keys, const Peer& peer,
                                          JoinOptions options, Sink* sorted,
                                          JoinReport* report) const {
  JoinedParts parts;
  parts.comparison = Comparison::kRows;
  for (const std::string& key : keys) parts.intervals.push_back(WholeRowsOfKey(key));
  options.begin = parts.intervals.front().begin;
  options.end = parts.intervals.back().end;
  options.keys_expected = nullptr;
  options.range_done = nullptr;
  options.report_ranges = false;
  ProvenRowsSink rows([&](const Row& row, Side from) { return sorted->Add(row, from); });
  return JoinTo(Operation::kSymmetric, PresentRows(), peer, options, parts, &rows, report);
}

void SecondLook::AddDifferent(const DifferencePair& pair) {
  if (!is_full() || next_.different.size() > kMostDifferentRows) return;
  const auto digest_of = [](const std::optional<DifferencePair::Side>& side) {
    return side ? std::string(side->digest) : DigestOf(kNoRow);
  };
  next_.different.push_back({std::string(pair.key), digest_of(pair.local), digest_of(pair.remote)});
}

absl::Status SecondLook::Save() {
  if (next_.different.size() > kMostDifferentRows || next_.remote.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(next_.Save(directory_, rows_.family()));
  is_saved_ = true;
  states_.Drop(replaced_, rows_.family());
  return absl::OkStatus();
}

}  // namespace rocksieve::join
