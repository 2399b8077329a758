// How the asking side comes from settled ranges to results.
#include <algorithm>
#include <chrono>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/session/asking_task.h"

namespace rocksieve::join {
namespace {

constexpr size_t kFetchedAhead = 2;  // ranges whose rows are on their way

}  // namespace

absl::Status AskingSide::AdvanceSettled() {
  const bool rows = SendsMatched(options_.operation) || SendsUnmatched(options_.operation);
  while (!tasks_.empty() && tasks_.front().Is<Task::Settled>() && !rows) {
    const absl::Status status = FinishFirst();
    if (!status.ok()) return status;
  }
  size_t ahead = 0;
  for (Task& task : tasks_) {
    const bool settled = task.Is<Task::Settled>();
    if (ahead++ == kFetchedAhead || (!settled && !task.Is<Task::Fetching>())) break;
    if (!settled) continue;
    BeginFetching(&task);
    const absl::Status status = Send(Fetch{task.range, task.attempt}, &task);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void AskingSide::BeginFetching(Task* task) {
  Task::Fetching fetching{std::get<Task::Settled>(std::move(task->phase)), nullptr};
  SettledRange settled;
  settled.interval = task->interval;
  settled.salt = RangeSalt(options_.salt, task->range, task->attempt);
  settled.equal = fetching.settled.equal;
  settled.matched = std::move(fetching.settled.matched);
  settled.mine = task->keys.sum;
  settled.theirs = task->theirs;
  ResultLimits limits;
  limits.most_row_bytes = options_.most_row_bytes;
  limits.most_bytes = options_.most_unproven_bytes;
  limits.keys_are_unique = options_.keys_are_unique;
  limits.memory = options_.memory;
  fetching.result =
      std::make_unique<RangeResult>(options_.operation, std::move(settled), limits, source_, sink_);
  task->phase = std::move(fetching);
}

absl::Status AskingSide::On(const Rows& rows) {
  if (!rows.last && RowBatchReader::IsEmpty(rows.batch)) {
    return absl::InvalidArgumentError(
        "the answering side sent rows that are none, and not the last");
  }
  if (rows.range == kAbsentRange) return OnAbsent(rows);
  absl::StatusOr<Task*> found = Find(rows.range);
  if (!found.ok()) return found.status();
  Task* task = *found;
  if (rows.attempt < task->attempt) return IgnoreRows(task, rows);
  if (task != &tasks_.front() || rows.attempt != task->attempt || !task->Is<Task::Fetching>()) {
    return absl::InvalidArgumentError("the answering side sent rows that it was not asked for");
  }
  const absl::Status status = std::get<Task::Fetching>(task->phase).result->Receive(rows.batch);
  if (absl::IsAborted(status)) return DiscardAndRepeat(task, status);
  return status.ok() && rows.last ? FinishFirst() : status;
}

// Of an attempt that was given up: there may be as many of them as of one that was not.
absl::Status AskingSide::IgnoreRows(Task* task, const Rows& rows) {
  task->ignored_bytes += rows.batch.size();
  if (task->ignored_bytes <= options_.most_unproven_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the answering side sent ", task->ignored_bytes,
                   " bytes of rows of an attempt that was given up, and no end"));
}

absl::Status AskingSide::DiscardAndRepeat(Task* task, const absl::Status& why) {
  const absl::Status status = sink_->Discard();
  return status.ok() ? Repeat(task, why) : status;
}

absl::Status AskingSide::FinishFirst() {
  Task& task = tasks_.front();
  if (task.Is<Task::Settled>()) BeginFetching(&task);  // of rows, none
  absl::Status status = std::get<Task::Fetching>(task.phase).result->Finish();
  if (absl::IsAborted(status)) return DiscardAndRepeat(&task, status);
  if (!status.ok()) return status;
  status = sink_->Commit();
  if (!status.ok()) return status;
  Report(&task);
  tasks_.pop_front();
  return absl::OkStatus();
}

void AskingSide::Report(Task* task) {
  RangeReport* const report = &task->report;
  const auto& [settled, result] = std::get<Task::Fetching>(task->phase);
  report->interval = task->interval;
  report->equal = settled.equal;
  report->repeats = task->attempt;
  report->keys_of_asking_side = report->matched_keys = task->keys.sum.count;
  report->keys_of_answering_side = task->theirs.count;
  report->rows_received = result->rows_received();
  report->bits_per_key = task->keys.bits_per_key;
  report->milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - task->opened)
          .count();
  if (!settled.equal) {
    const uint64_t matched = report->matched_keys = settled.matched_keys;
    const Matching::Counts& counts = settled.counts;
    report->keys_pruned = counts.candidates_pruned + (task->pruned ? task->pruned_keys : 0);
    if (counts.filters_received > 0 || task->pruned) {
      report->false_positives_of_asking_side =
          report->keys_of_asking_side - report->keys_pruned - matched;
    }
    if (counts.filters_sent > 0 && counts.their_candidates) {
      report->false_positives_of_answering_side =
          *counts.their_candidates - std::min(*counts.their_candidates, matched);
    }
  }
  AddRange(*report, &statistics_);
  if (options_.range_done) options_.range_done(*report);
}

absl::StatusOr<bool> AskingSide::AdvanceAbsent() {
  if (absent_ != nullptr) return false;
  if (!options_.absent_rows || !WantsAbsentRows(options_.operation)) return true;
  if (SendsUnmatched(options_.operation) && answer_->absent.count > 0 && !absent_received_) {
    absent_ = std::make_unique<AbsentRowsReader>(answer_->absent, options_.salt,
                                                 options_.most_row_bytes, sink_, options_.memory);
    const absl::Status sent = Send(Fetch{kAbsentRange, absent_attempt_});
    if (!sent.ok()) return sent;
    return false;
  }
  statistics_.absent_rows_of_answering_side = answer_->absent.count;
  Sink* const sink = EmitsLocalRows(options_.operation) ? sink_ : nullptr;
  absl::Status status;
  if (options_.own_absent_rows) {
    status = EmitAbsentRows(source_, sink, &statistics_.absent_rows_of_asking_side);
  }
  // Those of both sides together, so that a session that breaks has given all of them or none.
  if (status.ok() &&
      (absent_received_ || (statistics_.absent_rows_of_asking_side > 0 && sink != nullptr))) {
    status = sink_->Commit();
  }
  if (!status.ok()) return status;
  return true;
}

absl::Status AskingSide::OnAbsent(const Rows& rows) {
  if (rows.attempt < absent_attempt_) return absl::OkStatus();  // of one that was given up
  if (absent_ == nullptr || rows.attempt != absent_attempt_) {
    return absl::InvalidArgumentError("the answering side sent rows that it was not asked for");
  }
  absl::Status status = absent_->Receive(rows.batch);
  if (status.ok() && !rows.last) return status;
  if (status.ok()) status = absent_->Finish();
  if (!status.ok() && !absl::IsAborted(status)) return status;
  const uint64_t received = absent_->rows();
  absent_.reset();
  if (status.ok()) {
    absent_received_ = true;
    statistics_.rows_received += received;
    return absl::OkStatus();
  }
  statistics_.repeated_ranges++;
  absent_attempt_++;
  if (absent_attempt_ >= static_cast<uint32_t>(options_.most_attempts)) {
    return absl::DataLossError(
        "the rows of the other side that have no such attribute do not add up to what it said that "
        "it has; it is broken, or changes its data while it is read. None of them was given");
  }
  return sink_->Discard();
}

}  // namespace rocksieve::join
