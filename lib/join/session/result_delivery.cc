#include "lib/join/session/result_delivery.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {
namespace {

constexpr size_t kFetchedAhead = 2;  // ranges whose rows are on their way

}  // namespace

absl::Status ResultDelivery::Advance() {
  AskingTasks& tasks = context_->tasks;
  if (!SendsRows(context_->options.operation)) {
    while (!tasks.empty() && tasks.front().Is<AskingTask::Settled>()) {
      const absl::Status status = FinishFirst();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  size_t ahead = 0;
  for (AskingTask& task : tasks) {
    const bool settled = task.Is<AskingTask::Settled>();
    if (ahead++ == kFetchedAhead || (!settled && !task.Is<AskingTask::Fetching>())) break;
    if (!settled) continue;
    BeginFetching(&task);
    const absl::Status status = context_->Send(Fetch{task.range, task.attempt}, &task);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// The result is made from the rows that will come.
void ResultDelivery::BeginFetching(AskingTask* task) {
  const AskingOptions& options = context_->options;
  AskingTask::Fetching fetching{std::get<AskingTask::Settled>(std::move(task->phase)), nullptr};
  SettledRange settled;
  settled.interval = task->interval;
  settled.salt = context_->SaltOf(*task);
  settled.matched = std::move(fetching.settled.matched);
  settled.mine = task->keys.sum;
  settled.theirs = task->theirs;
  ResultLimits limits;
  limits.most_row_bytes = options.most_row_bytes;
  limits.most_bytes = options.most_unproven_bytes;
  limits.keys_are_unique = options.keys_are_unique;
  limits.memory = options.memory;
  fetching.result = std::make_unique<RangeResult>(options.operation, std::move(settled), limits,
                                                  context_->source, context_->sink);
  task->phase = std::move(fetching);
}

absl::Status ResultDelivery::Receive(const Rows& rows) {
  const absl::StatusOr<AskingTask*> found = context_->tasks.Find(rows.range);
  if (!found.ok()) return found.status();
  AskingTask* const task = *found;
  if (rows.attempt < task->attempt) return IgnoreRows(task, rows);
  auto* const fetching = std::get_if<AskingTask::Fetching>(&task->phase);
  if (task != &context_->tasks.front() || rows.attempt != task->attempt || fetching == nullptr) {
    return absl::InvalidArgumentError("the answering side sent rows that it was not asked for");
  }
  const absl::Status status = fetching->result->Receive(rows.batch);
  if (absl::IsAborted(status)) return DiscardAndRepeat(task, status);
  return status.ok() && rows.last ? FinishFirst() : status;
}

// Of an attempt that was given up: there may be as many of them as of one that was not.
absl::Status ResultDelivery::IgnoreRows(AskingTask* task, const Rows& rows) const {
  task->ignored_bytes += rows.batch.size();
  if (task->ignored_bytes <= context_->options.most_unproven_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the answering side sent ", task->ignored_bytes,
                   " bytes of rows of an attempt that was given up, and no end"));
}

absl::Status ResultDelivery::DiscardAndRepeat(AskingTask* task, const absl::Status& why) {
  const absl::Status status = context_->sink->Discard();
  return status.ok() ? context_->Repeat(task, why) : status;
}

absl::Status ResultDelivery::FinishFirst() {
  AskingTask& task = context_->tasks.front();
  if (task.Is<AskingTask::Settled>()) BeginFetching(&task);  // of rows, none
  absl::Status status = std::get<AskingTask::Fetching>(task.phase).result->Finish();
  if (absl::IsAborted(status)) return DiscardAndRepeat(&task, status);
  if (!status.ok()) return status;
  status = context_->sink->Commit();
  if (!status.ok()) return status;
  Report(&task);
  context_->tasks.PopFront();
  return absl::OkStatus();
}

void ResultDelivery::Report(AskingTask* task) {
  RangeReport* const report = &task->report;
  const auto& [settled, result] = std::get<AskingTask::Fetching>(task->phase);
  report->interval = task->interval;
  report->equal = settled.equal;
  report->repeats = task->attempt;
  report->keys_of_asking_side = report->matched_keys = task->keys.sum.count;
  report->keys_of_answering_side = task->theirs.count;
  report->rows_received = result->rows_received();
  report->bits_per_key = task->keys.bits_per_key;
  report->milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - *task->opened)
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
  AddRange(*report, &context_->statistics);
  if (context_->options.range_done) context_->options.range_done(*report);
}

}  // namespace rocksieve::join
