// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/second_look.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/join_key/whole_row.h"
#include "plugin/database/open_errors.h"
#include "plugin/join/row_lookup.h"
#include "plugin/join_api/changed_rows.h"
#include "plugin/join_api/join_to.h"
#include "plugin/join_api/result_sinks.h"

namespace rocksieve::join {
namespace {

constexpr size_t kMostDifferentKeys = 100'000;

uint64_t SecondsNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

class SharedRows final : public Source {
 public:
  explicit SharedRows(std::shared_ptr<Source> rows) : rows_(std::move(rows)) {}
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    return rows_->Scan(interval);
  }
  uint64_t EstimateKeys() override { return rows_->EstimateKeys(); }

 private:
  const std::shared_ptr<Source> rows_;
};

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

  absl::Status AddLocal(std::string_view key, std::string_view value) {
    WholeRowJoinKey({key, value}, &join_key_);
    return Add({join_key_, value}, Side::kClient);
  }
  absl::Status AddRemote(std::string_view key, std::string_view digest, std::string_view value) {
    join_key_ = WholeRowsOfKey(key).begin;
    join_key_.append(digest);
    return Add({join_key_, value}, Side::kServer);
  }

  absl::Status GiveAll(Sink* sink) {
    absl::StatusOr<std::unique_ptr<Source>> sorted = sorter_.Finish();
    if (!sorted.ok()) return sorted.status();
    const std::unique_ptr<Cursor> rows = (*sorted)->Scan({});
    Row row;
    while (rows->Next(&row)) {
      const Side from = row.value.front() == kLocal ? Side::kClient : Side::kServer;
      const absl::Status status = sink->Add({row.key, row.value.substr(1)}, from);
      if (!status.ok()) return status;
    }
    return rows->status().ok() ? sink->Commit() : rows->status();
  }

 private:
  static constexpr char kLocal = 0, kRemote = 1;
  RowSorter sorter_{SortOptions()};
  std::string join_key_, value_;
};

// What changed on one side, or on both in different ways, becomes rows that differ.
class ChangeJudge {
 public:
  ChangeJudge(const ReadOnlySnapshot& then, const ReadOnlySnapshot& now, DifferentRows* different)
      : then_(then.db(), then.column_family()),
        now_(now.db(), now.column_family()),
        different_(different) {}

  absl::Status Add(const DifferencePair& pair) {
    if (pair.local && pair.remote) return AddBoth(pair);
    return pair.local ? AddLocalChange(pair) : AddRemoteChange(pair);
  }

 private:
  absl::Status AddBoth(const DifferencePair& pair) {
    const absl::Status status = pair.local->value == kNoRow
                                    ? absl::OkStatus()
                                    : different_->AddLocal(pair.key, pair.local->value);
    return status.ok() ? AddRemote(pair) : status;
  }

  absl::Status AddRemote(const DifferencePair& pair) {
    if (pair.remote->digest == no_row_) return absl::OkStatus();
    return different_->AddRemote(pair.key, pair.remote->digest, pair.remote->value);
  }

  // The other side has what it had then, and that is what this side had.
  absl::Status AddLocalChange(const DifferencePair& pair) {
    std::optional<std::string_view> theirs;
    absl::Status status = then_.Find(pair.key, &theirs);
    if (!status.ok() || theirs.value_or(kNoRow) == pair.local->value) return status;
    if (pair.local->value != kNoRow) status = different_->AddLocal(pair.key, pair.local->value);
    if (!status.ok() || !theirs) return status;
    return different_->AddRemote(pair.key, DigestOf(*theirs), *theirs);
  }

  absl::Status AddRemoteChange(const DifferencePair& pair) {
    std::optional<std::string_view> mine;
    absl::Status status = now_.Find(pair.key, &mine);
    if (!status.ok() || DigestOf(mine.value_or(kNoRow)) == pair.remote->digest) return status;
    if (mine) status = different_->AddLocal(pair.key, *mine);
    return status.ok() ? AddRemote(pair) : status;
  }

  const std::string no_row_ = DigestOf(kNoRow);
  RowLookup then_, now_;
  DifferentRows* const different_;
};

void AddTraffic(const JoinReport& other, JoinReport* report) {
  report->wire_bytes_sent += other.wire_bytes_sent;
  report->wire_bytes_received += other.wire_bytes_received;
}

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
  absl::StatusOr<DiffState> before = DiffState::Load(directory_, rows_.family());
  if (!before.ok()) return before.status();
  replaced_ = before->local;
  const uint64_t now = SecondsNow();
  const uint64_t age = now - std::min(now, before->full_at_seconds);
  if (age >= static_cast<uint64_t>(std::chrono::seconds(full_every_).count())) {
    return absl::NotFoundError(absl::StrCat("all was compared ", age / 3600, " hours ago"));
  }
  std::unique_ptr<ReadOnlySnapshot> then;
  const rocksdb::Status status =
      states_.Open(before->local, rows_.family(), rows_.rate_limiter, &then);
  if (!status.ok()) return absl::NotFoundError(MessageOf(status));
  then_ = std::move(then);
  absl::StatusOr<std::unique_ptr<Source>> changed =
      OpenChangedRows(then_, now_, /*values=*/true, SortOptions(), cancellation);
  if (!changed.ok()) return changed.status();
  changed_ = *std::move(changed);
  before_ = *std::move(before);
  return absl::OkStatus();
}

Input SecondLook::PresentRows() const {
  const auto rows = [now = now_, limiter = rows_.rate_limiter](const JoinKeyExpression& on) {
    return FrozenRows{RowsOf(now, on, SortOptions(), limiter), now};
  };
  return Input(std::make_shared<Input::Impl>(rows, WholeRows()));
}

Input SecondLook::ChangedRows() const {
  const auto rows = [changed = changed_](const JoinKeyExpression&) {
    return FrozenRows{[changed](const Cancellation*) -> absl::StatusOr<std::unique_ptr<Source>> {
                        return std::make_unique<SharedRows>(changed);
                      },
                      nullptr};
  };
  return Input(std::make_shared<Input::Impl>(rows, WholeRows()));
}

bool SecondLook::DifferedBefore(std::string_view key) const {
  return std::binary_search(before_.different_keys.begin(), before_.different_keys.end(), key);
}

absl::Status SecondLook::Run(const Peer& peer, const JoinOptions& options, bool describe,
                             ResultSink* rows, JoinReport* report) {
  absl::Status status =
      UntilCancelled(options, [this](Cancellation* cancellation) { return Open(cancellation); });
  if (!status.ok()) return status;
  if (!is_full()) {
    status = CompareChanges(peer, options, describe, rows, report);
    next_.full_at_seconds = before_.full_at_seconds;
    if (!absl::IsNotFound(status)) return status;
    why_full_ = std::string(status.message());
    changed_ = nullptr;
    before_ = {};
  }
  next_.full_at_seconds = SecondsNow();
  return JoinTo(Operation::kSymmetric, PresentRows(), peer, options,
                {{KeyInterval()}, describe, &next_.remote}, rows, report);
}

absl::Status SecondLook::CompareChanges(const Peer& peer, const JoinOptions& options, bool describe,
                                        ResultSink* rows, JoinReport* report) {
  DifferentRows different;
  ChangeJudge judge(*then_, *now_, &different);
  DifferencePairs pairs([&](const DifferencePair& pair) {
    return DifferedBefore(pair.key) ? absl::OkStatus() : judge.Add(pair);
  });
  ProvenRowsSink changes([&](const Row& row, Side from) { return pairs.Add(row, from); });
  absl::Status status =
      JoinTo(Operation::kSymmetric, ChangedRows(), peer, options,
             {{KeyInterval()}, describe, &next_.remote, before_.remote}, &changes, report);
  if (status.ok()) status = pairs.Finish();
  if (status.ok() && !before_.different_keys.empty()) {
    JoinReport again;
    status = CompareAgain(peer, options, &different, &again);
    AddTraffic(again, report);
  }
  return status.ok() ? different.GiveAll(rows) : status;
}

// Rows that differed before, whether they were changed since or not.
absl::Status SecondLook::CompareAgain(const Peer& peer, JoinOptions options, Sink* sorted,
                                      JoinReport* report) const {
  JoinedParts parts;
  for (const std::string& key : before_.different_keys) {
    parts.intervals.push_back(WholeRowsOfKey(key));
  }
  options.begin = parts.intervals.front().begin;
  options.end = parts.intervals.back().end;
  options.keys_expected = nullptr;
  options.range_done = nullptr;
  options.report_ranges = false;
  ProvenRowsSink rows([&](const Row& row, Side from) { return sorted->Add(row, from); });
  return JoinTo(Operation::kSymmetric, PresentRows(), peer, options, parts, &rows, report);
}

absl::Status SecondLook::Save(std::vector<std::string> different_keys) {
  std::sort(different_keys.begin(), different_keys.end());
  // Those that differed before are equal now only as the server was a moment later.
  std::set_union(different_keys.begin(), different_keys.end(), before_.different_keys.begin(),
                 before_.different_keys.end(), std::back_inserter(next_.different_keys));
  if (next_.different_keys.size() > kMostDifferentKeys || next_.remote.empty()) {
    return absl::OkStatus();
  }
  const absl::Status status = next_.Save(directory_, rows_.family());
  if (!status.ok()) return status;
  is_saved_ = true;
  states_.Drop(replaced_, rows_.family());
  return status;
}

}  // namespace rocksieve::join
