#include "lib/join/session/range_reconciler.h"

#include <algorithm>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/common_estimate.h"

namespace rocksieve::join {

OpenedRange RangeReconciler::Opened(const AskingTask& task, const Facts& facts) const {
  const AskingOptions& options = context_->options;
  OpenedRange opened;
  opened.session_salt = options.salt;
  opened.range = task.range;
  opened.attempt = task.attempt;
  opened.asks = true;
  opened.begins = !std::get<AskingTask::Opening>(task.phase).answering_side_begins;
  opened.theirs = facts.sum;
  opened.pruning = facts.pruning;
  opened.prunes = task.pruned;
  opened.own_pass_rate = context_->offer.pass_rate;
  opened.their_pass_rate = context_->answer.ready_pass_rate;
  opened.counters = CountersFor(context_->source->EstimateKeys(), context_->answer.keys);
  opened.common = static_cast<double>(facts.common);
  opened.most_message_bytes = options.most_message_bytes;
  opened.memory = options.memory;
  opened.filters = task.filters.get();
  return opened;
}

absl::Status RangeReconciler::Begin(AskingTask* task, const Facts& facts) {
  const MatchingOptions options =
      OptionsFor(Opened(*task, facts), task->keys, context_->options.planner);
  const absl::Status affordable = CheckMostBytes(*task, options);
  if (!affordable.ok()) return affordable;
  task->keys_memory.Release();  // the Matching holds them from now on
  task->phase = std::make_unique<Reconciliation>(context_->source, task->interval,
                                                 std::move(task->keys.candidates), options);
  return Continue(task);
}

absl::Status RangeReconciler::CheckMostBytes(const AskingTask& task,
                                             const MatchingOptions& options) const {
  const uint64_t most_bytes = context_->options.most_bytes;
  Standing first_mover = {static_cast<double>(task.keys.candidates.size()), options.their_count,
                          options.common, options.common_error};
  if (!options.begins) std::swap(first_mover.mine, first_mover.theirs);
  if (most_bytes == 0 || first_mover.mine < 1 || first_mover.theirs < 1) return absl::OkStatus();
  const TurnLimit turns = {options.begins,
                           TurnsOf(options.planner.most_round_trips, options.begins)};
  const double range_bytes = CheapestMove(first_mover, turns, 0, options.planner).bits / 8;
  const double keys_of_range =
      std::max(1.0, options.begins ? first_mover.mine : first_mover.theirs);
  const double ranges =
      std::max(1.0, static_cast<double>(context_->source->EstimateKeys()) / keys_of_range);
  const Traffic& sent = context_->statistics.sent;
  const Traffic& received = context_->statistics.received;
  const auto spent =
      static_cast<double>(sent.total() - sent.payload + received.total() - received.payload);
  const double expected = std::max(range_bytes * ranges, spent + range_bytes);
  if (expected <= static_cast<double>(most_bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the join would take about ", static_cast<uint64_t>(expected),
      " bytes, rows apart, and the limit is ", most_bytes,
      "; allow more, join a part of the keys, or allow more round trips. No rows were fetched for "
      "the ranges that are open"));
}

absl::Status RangeReconciler::Receive(const Turn& turn) {
  const absl::StatusOr<AskingTask*> task = context_->tasks.Find(turn.range);
  if (!task.ok()) return task.status();
  if (std::exchange((*task)->ignores_turn, false)) return absl::OkStatus();
  auto* const reconciling = std::get_if<AskingTask::Reconciling>(&(*task)->phase);
  if (reconciling == nullptr || (*reconciling)->matching.state() != Matching::State::kTheirTurn) {
    return absl::InvalidArgumentError("the answering side spoke out of turn");
  }
  const absl::Status status = (*reconciling)->matching.Receive(turn.message);
  return status.ok() ? Continue(*task) : status;
}

absl::Status RangeReconciler::Continue(AskingTask* task) {
  Matching& matching = std::get<AskingTask::Reconciling>(task->phase)->matching;
  if (matching.state() == Matching::State::kMyTurn) {
    Turn turn;
    turn.range = task->range;
    absl::Status status = matching.TakeTurn(&turn.message);
    if (status.ok()) status = context_->Send(turn, task);
    if (!status.ok()) return status;
  }
  const bool contradicted = matching.state() == Matching::State::kContradicted;
  if (!contradicted && matching.state() != Matching::State::kSettled) return absl::OkStatus();
  const Matching::Counts& counts = matching.counts();
  context_->statistics.filters_built += counts.filters_built;
  context_->statistics.filters += counts.filters_sent + counts.filters_received;
  if (!contradicted) return Settle(task);
  return context_->Repeat(task, absl::AbortedError("the sums of the matched keys differ"));
}

absl::Status RangeReconciler::Settle(AskingTask* task) {
  Matching& matching = std::get<AskingTask::Reconciling>(task->phase)->matching;
  CountEnding(matching.ending());
  // The last turn is the answering side's, and its first one comes with the opening.
  uint64_t& most_round_trips = context_->statistics.most_range_round_trips;
  most_round_trips = std::max(most_round_trips, matching.counts().turns / 2);
  AskingTask::Settled settled;
  settled.matched.some = matching.TakeMatched();
  settled.matched_keys = settled.matched.some.size();
  settled.counts = matching.counts();
  const uint64_t bytes = settled.matched.some.capacity() * sizeof(Candidate);
  task->phase = std::move(settled);  // with all that the Matching held
  return task->keys_memory.Resize(bytes, "matched keys");
}

void RangeReconciler::CountEnding(MoveKind ending) {
  Statistics& statistics = context_->statistics;
  switch (ending) {
    case MoveKind::kKeys:
      statistics.ranges_by_keys++;
      break;
    case MoveKind::kSymbols:
      statistics.ranges_by_symbols++;
      break;
    case MoveKind::kSketch:
      statistics.ranges_by_sketch++;
      break;
    default:
      statistics.ranges_by_list++;
  }
}

}  // namespace rocksieve::join
