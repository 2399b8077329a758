// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/join/diff.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "lib/join/join_key/join_key_source.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/transport/status.h"
#include "plugin/join/comparable_value.h"
#include "plugin/join/status.h"
#include "plugin/join_api/differences.h"
#include "plugin/join_api/join_impl.h"
#include "plugin/join_api/local_look.h"
#include "plugin/join_api/result_sinks.h"
#include "plugin/join_api/second_look.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

using Clock = Cancellation::Clock;

constexpr int kMostLooks = 4;
constexpr std::chrono::seconds kBetweenLooks(1);

class DiffRun {
 public:
  // `second_look`: what the first look is done by, or null.
  DiffRun(LookAt look, const DiffOptions& options, const DifferenceCallback& on_row,
          DiffReport* report, SecondLook* second_look)
      : look_(std::move(look)),
        options_(options),
        on_row_(on_row),
        report_(report),
        second_look_(second_look),
        recheck_(options.most_rechecked) {}

  rocksdb::Status Run() {
    return said_.Or(Guarded([this] {
      const Clock::time_point begin = Clock::now();
      const absl::Status status = LookOnce();
      if (!status.ok() || options_.recheck.count() <= 0) return status;
      const absl::Status again = LookAgain(begin);
      return again.ok() ? GiveAll() : again;
    }));
  }

 private:
  // Rows are given as they come, unless they are looked at again.
  absl::Status LookOnce() {
    const bool gives = options_.recheck.count() <= 0;
    bool found_now = false;
    DifferencePairs pairs([&](const DifferencePair& pair) {
      Count(pair.difference());
      if (second_look_ != nullptr) second_look_->AddDifferent(pair);
      if (gives) return Give(pair, Verdict::kDifferent);
      recheck_.Add(pair);
      if (!found_now || !options_.found) return absl::OkStatus();
      return said_.Keep(options_.found(RowOf(pair, Verdict::kDifferent)));
    });
    const auto take = [&](const Row& row, Side from) {
      const absl::Status kept = gives ? absl::OkStatus() : found_.Add(row, from);
      return kept.ok() ? pairs.Add(row, from) : kept;
    };
    RETURN_IF_ERROR(TakeFoundBefore(take));
    RETURN_IF_ERROR(pairs.Finish());
    found_now = true;
    const DiffReport before = *report_;
    DiffProgress progress;
    absl::Status told;
    ProvenRowsSink sink(
        take, [&] { return told; }, [&] { progress = {}; });
    const KeyInterval rows{options_.join.begin, options_.join.end};
    const bool may_share =
        !options_.read_shared_files && !options_.proven && rows.begin.empty() && !rows.end;
    Look look{{rows},
              options_.join,
              options_.values,
              /*digests=*/options_.recheck.count() > 0,
              /*describe=*/true,
              may_share ? &report_->shared : nullptr,
              nullptr};
    look.proven = [&](const std::string& next_key, const RangeSummary& range) {
      progress.equal_rows += range.matched_keys;
      progress.bytes_sent += range.sent.total();
      progress.bytes_received += range.received.total();
      told = pairs.FinishBefore(next_key);
      if (!told.ok() || !options_.proven) return told;
      progress.next_key = next_key;
      progress.local_only_rows = report_->local_only_rows - before.local_only_rows;
      progress.remote_only_rows = report_->remote_only_rows - before.remote_only_rows;
      progress.changed_rows = report_->changed_rows - before.changed_rows;
      return told = said_.Keep(options_.proven(progress));
    };
    absl::Status status = look_(look, &sink, &report_->join);
    if (status.ok()) status = told;
    if (status.ok()) status = pairs.Finish();
    report_->equal_rows = report_->join.matched_keys;
    if (second_look_ == nullptr) return status;
    report_->only_changes = !second_look_->is_full();
    report_->by_journal = second_look_->by_journal();
    report_->why_full = second_look_->why_full();
    report_->full_at_seconds = second_look_->full_at_seconds();
    return status.ok() ? second_look_->Save() : status;
  }

  absl::Status TakeFoundBefore(const ProvenRowsSink::Take& take) {
    if (options_.recheck.count() <= 0 || !options_.found_before) return absl::OkStatus();
    std::string join_key;
    absl::Status taken;
    const rocksdb::Status status = options_.found_before([&](const DifferentRow& row) {
      const auto add = [&](uint64_t hash, const std::optional<std::string_view>& value, Side side) {
        WholeRowJoinKey(row.key, hash, &join_key);
        if (taken.ok()) taken = take({join_key, value.value_or("")}, side);
      };
      if (row.difference != Difference::kRemoteOnly) {
        add(row.local_hash, row.local_value, Side::kClient);
      }
      if (row.difference != Difference::kLocalOnly) {
        add(row.remote_hash, row.remote_value, Side::kServer);
      }
      return ToRocksDb(taken);
    });
    return taken.ok() ? said_.Keep(status) : taken;
  }

  absl::Status LookAgain(Clock::time_point begin) {
    Look look{{},      options_.join, /*values=*/false, /*digests=*/true, /*describe=*/false,
              nullptr, nullptr};
    look.options.keys_expected = nullptr;  // progress is that of the first look
    look.options.range_done = nullptr;
    look.options.report_ranges = false;
    const auto looks = std::clamp<int64_t>(options_.recheck / kBetweenLooks, 1, kMostLooks);
    for (int64_t i = 1; i <= looks; i++) {
      look.parts = recheck_.Suspects();
      if (look.parts.empty()) return absl::OkStatus();
      RETURN_IF_ERROR(WaitUntil(begin + std::min(options_.recheck, kLongest) * i / looks));
      recheck_.BeginLook();
      DifferencePairs pairs([this](const DifferencePair& pair) {
        recheck_.Look(pair);
        return absl::OkStatus();
      });
      ProvenRowsSink sink([&](const Row& row, Side from) { return pairs.Add(row, from); });
      JoinReport report;
      absl::Status status = look_(look, &sink, &report);
      report_->recheck_bytes_sent += report.wire_bytes_sent;
      report_->recheck_bytes_received += report.wire_bytes_received;
      if (status.ok()) status = pairs.Finish();
      if (!status.ok()) return status;
      recheck_.EndLook();
      report_->looks++;
    }
    return absl::OkStatus();
  }

  absl::Status WaitUntil(Clock::time_point then) const {
    return UntilCancelled(options_.join, [then](Cancellation* cancellation) {
      SleepUntil(then, cancellation->token());
      return cancellation->Check();
    });
  }

  absl::Status GiveAll() {
    size_t row = 0;
    DifferencePairs pairs([&](const DifferencePair& pair) {
      const Verdict verdict = recheck_.VerdictOf(row++);
      report_->transient_rows += verdict == Verdict::kTransient;
      report_->diverged_rows += verdict == Verdict::kDiverged;
      return Give(pair, verdict);
    });
    const absl::Status status =
        found_.Visit([&](const Row& found, Side from) { return pairs.Add(found, from); });
    return status.ok() ? pairs.Finish() : status;
  }

  void Count(Difference difference) {
    report_->local_only_rows += difference == Difference::kLocalOnly;
    report_->remote_only_rows += difference == Difference::kRemoteOnly;
    report_->changed_rows += difference == Difference::kChanged;
  }

  absl::Status Give(const DifferencePair& pair, Verdict verdict) {
    constexpr Verdict kByWeight[] = {Verdict::kMatch, Verdict::kTransient, Verdict::kDifferent,
                                     Verdict::kDiverged};
    const auto weight = [&](Verdict v) { return std::find(kByWeight, kByWeight + 4, v); };
    if (weight(verdict) > weight(report_->verdict)) report_->verdict = verdict;
    return on_row_ ? said_.Keep(on_row_(RowOf(pair, verdict))) : absl::OkStatus();
  }

  DifferentRow RowOf(const DifferencePair& pair, Verdict verdict) const {
    DifferentRow row;
    row.difference = pair.difference();
    row.verdict = verdict;
    row.key = pair.key;
    if (pair.local) {
      row.local_value = pair.local->value;
      row.local_hash = ValueHashOf(pair.local->digest);
    }
    if (pair.remote) {
      if (options_.values) row.remote_value = pair.remote->value;
      row.remote_hash = ValueHashOf(pair.remote->digest);
    }
    return row;
  }

  const LookAt look_;
  const DiffOptions& options_;
  const DifferenceCallback& on_row_;
  DiffReport* const report_;
  SecondLook* const second_look_;
  Recheck recheck_;
  RowSpool found_;  // what is looked at again
  CallbackStatus said_;
};

absl::StatusOr<Input> By(absl::StatusOr<JoinKeyExpression> expression, const Input& input) {
  if (input.impl() == nullptr || input.impl()->on_expression()) {
    return absl::InvalidArgumentError(
        "a comparison is of whole rows: make its inputs without InputOptions::on");
  }
  if (!expression.ok()) return expression.status();
  return Input(std::make_shared<Input::Impl>(input.impl()->On(*std::move(expression))));
}

absl::Status CheckPeer(const Peer& peer) {
  if (peer.on.empty() && peer.addresses.size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a comparison is with one server, of its whole rows: give the peer one address, and no `on`");
}

absl::Status MakeSecondLook(const Input& local, const DiffOptions& options,
                            std::unique_ptr<SecondLook>* second_look) {
  if (options.state_directory.empty()) return absl::OkStatus();
  const std::optional<DirectoryOfRows>& rows = local.impl()->directory();
  if (!rows || !options.join.begin.empty() || options.join.end || options.proven) {
    return absl::InvalidArgumentError(
        "states are kept of all rows of a directory, in one comparison: Input::OfDirectory(), "
        "without bounds, and without DiffOptions::proven");
  }
  *second_look = std::make_unique<SecondLook>(options.state_directory, options.full_every, *rows);
  return absl::OkStatus();
}

rocksdb::Status RunDiff(LookAt look, const DiffOptions& options, const DifferenceCallback& on_row,
                        DiffReport* report, SecondLook* second_look = nullptr) {
  DiffReport unwanted;
  if (report == nullptr) report = &unwanted;
  *report = {};
  return DiffRun(std::move(look), options, on_row, report, second_look).Run();
}

}  // namespace

rocksdb::Status Diff(const Input& local, const Peer& peer, const DiffOptions& options,
                     const DifferenceCallback& on_row, DiffReport* report) {
  const absl::StatusOr<Input> mine = By(JoinKeyExpression::Parse(kWholeRow), local);
  if (!mine.ok()) return ToRocksDb(mine.status());
  absl::Status status = CheckPeer(peer);
  if (!status.ok()) return ToRocksDb(status);
  std::unique_ptr<SecondLook> second_look;
  status = MakeSecondLook(*mine, options, &second_look);
  if (!status.ok()) return ToRocksDb(status);
  return RunDiff(
      [&](const Look& look, ResultSink* rows, JoinReport* look_report) {
        Peer whole = peer;
        whole.on = look.values ? kWholeRow : kWholeRowWithoutValue;
        if (look.describe && second_look != nullptr) {
          return second_look->Run(whole, look.options, look.describe, rows, look_report);
        }
        JoinedParts parts{{}, look.describe};
        for (const KeyInterval& keys : look.parts) {
          parts.intervals.push_back(WholeRowsOfKeys(keys));
        }
        JoinOptions within = look.options;
        within.begin = parts.intervals.front().begin;
        within.end = parts.intervals.back().end;
        if (look.proven) {
          within.range_done = [&look](const RangeSummary& range) {
            if (look.options.range_done) look.options.range_done(range);
            if (!range.end) return;
            // What goes wrong is kept for the next range, or the end.
            look.proven(KeysOfWholeRows({*range.end, std::nullopt}).begin, range).IgnoreError();
          };
        }
        parts.comparison = look.values || look.digests ? Comparison::kRows : Comparison::kKeys;
        return JoinTo(Operation::kSymmetric, *mine, whole, within, parts, rows, look_report);
      },
      options, on_row, report, second_look.get());
}

rocksdb::Status Diff(const Input& local, const Input& remote, const DiffOptions& options,
                     const DifferenceCallback& on_row, DiffReport* report) {
  if (!options.state_directory.empty()) {
    return rocksdb::Status::InvalidArgument("states are kept of comparisons with a server");
  }
  const absl::StatusOr<Input> mine = By(JoinKeyExpression::KeyOfWholeRow(), local);
  const absl::StatusOr<Input> theirs = By(JoinKeyExpression::KeyOfWholeRow(), remote);
  if (!mine.ok() || !theirs.ok()) return ToRocksDb(mine.ok() ? theirs.status() : mine.status());
  return RunDiff(
      [&](const Look& look, ResultSink* rows, JoinReport* look_report) {
        return LookHere(*mine, *theirs, look, rows, look_report);
      },
      options, on_row, report);
}

rocksdb::Status ReadValue(std::string_view value, ReadableValue* readable) {
  if (ReadComparableValue(value, readable)) return rocksdb::Status::OK();
  return rocksdb::Status::InvalidArgument("this is no value of a row of a comparison");
}

}  // namespace rocksieve::join
