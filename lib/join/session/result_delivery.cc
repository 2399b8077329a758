// SPDX-License-Identifier: Apache-2.0
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
  ClientRanges& ranges = context_->ranges;
  if (!SendsRows(context_->options.operation)) {
    while (!ranges.empty() && ranges.front().Is<ClientRange::Reconciled>()) {
      const absl::Status status = FinishFirst();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  size_t ahead = 0;
  for (ClientRange& range : ranges) {
    const bool reconciled = range.Is<ClientRange::Reconciled>();
    if (ahead++ == kFetchedAhead || (!reconciled && !range.Is<ClientRange::Fetching>())) break;
    if (!reconciled) continue;
    BeginFetching(&range);
    const absl::Status status = context_->Send(Fetch{range.number, range.attempt}, &range);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// The result is made from the rows that will come.
void ResultDelivery::BeginFetching(ClientRange* range) {
  const ClientSessionOptions& options = context_->options;
  ClientRange::Fetching fetching{std::get<ClientRange::Reconciled>(std::move(range->phase)),
                                 nullptr};
  ReconciledRange reconciled;
  reconciled.interval = range->interval;
  reconciled.salt = context_->SaltOf(*range);
  reconciled.matched = std::move(fetching.reconciled.matched);
  reconciled.mine = range->keys.sum;
  reconciled.theirs = range->theirs;
  ResultLimits limits;
  limits.most_row_bytes = options.most_row_bytes;
  limits.most_bytes = options.most_unproven_bytes;
  limits.keys_are_unique = options.keys_are_unique;
  limits.comparison = options.comparison;
  limits.memory = options.memory;
  fetching.result = std::make_unique<RangeResult>(options.operation, std::move(reconciled), limits,
                                                  context_->source, context_->sink);
  range->phase = std::move(fetching);
}

absl::Status ResultDelivery::Receive(const Rows& rows) {
  const absl::StatusOr<ClientRange*> found = context_->ranges.Find(rows.range);
  if (!found.ok()) return found.status();
  ClientRange* const range = *found;
  if (rows.attempt < range->attempt) return IgnoreRows(range, rows);
  auto* const fetching = std::get_if<ClientRange::Fetching>(&range->phase);
  if (range != &context_->ranges.front() || rows.attempt != range->attempt || fetching == nullptr) {
    return absl::InvalidArgumentError("the server sent rows that it was not asked for");
  }
  const absl::Status status = fetching->result->Receive(rows.batch);
  if (absl::IsAborted(status)) return DiscardAndRepeat(range, status);
  return status.ok() && rows.last ? FinishFirst() : status;
}

// Of an attempt that was given up: there may be as many of them as of one that was not.
absl::Status ResultDelivery::IgnoreRows(ClientRange* range, const Rows& rows) const {
  range->ignored_bytes += rows.batch.size();
  if (range->ignored_bytes <= context_->options.most_unproven_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the server sent ", range->ignored_bytes,
                   " bytes of rows of an attempt that was given up, and no end"));
}

absl::Status ResultDelivery::DiscardAndRepeat(ClientRange* range, const absl::Status& why) {
  const absl::Status status = context_->sink->Discard();
  return status.ok() ? context_->Repeat(range, why) : status;
}

absl::Status ResultDelivery::FinishFirst() {
  ClientRange& range = context_->ranges.front();
  if (range.Is<ClientRange::Reconciled>()) BeginFetching(&range);  // of rows, none
  absl::Status status = std::get<ClientRange::Fetching>(range.phase).result->Finish();
  if (absl::IsAborted(status)) return DiscardAndRepeat(&range, status);
  if (!status.ok()) return status;
  status = context_->sink->Commit();
  if (!status.ok()) return status;
  Report(&range);
  context_->ranges.PopFront();
  return absl::OkStatus();
}

void ResultDelivery::Report(ClientRange* range) {
  RangeReport* const report = &range->report;
  const auto& [reconciled, result] = std::get<ClientRange::Fetching>(range->phase);
  report->interval = range->interval;
  report->equal = reconciled.equal;
  report->repeats = range->attempt;
  report->client_keys = report->matched_keys = range->keys.sum.count;
  report->server_keys = range->theirs.count;
  report->rows_received = result->rows_received();
  report->bits_per_key = range->keys.bits_per_key;
  report->milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - *range->opened)
          .count();
  if (!reconciled.equal) {
    const uint64_t matched = report->matched_keys = reconciled.matched_keys;
    const Matching::Counts& counts = reconciled.counts;
    report->keys_pruned = counts.candidates_pruned + (range->pruned ? range->pruned_keys : 0);
    if (counts.filters_received > 0 || range->pruned) {
      report->client_false_positives = report->client_keys - report->keys_pruned - matched;
    }
    if (counts.filters_sent > 0 && counts.their_candidates) {
      report->server_false_positives =
          *counts.their_candidates - std::min(*counts.their_candidates, matched);
    }
  }
  AddRange(*report, &context_->statistics);
  if (context_->options.range_done) context_->options.range_done(*report);
}

}  // namespace rocksieve::join
