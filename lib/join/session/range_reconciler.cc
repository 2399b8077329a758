// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/range_reconciler.h"

#include <algorithm>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/common_estimate.h"

namespace rocksieve::join {

OpenedRange RangeReconciler::Opened(const ClientRange& range, const Facts& facts) const {
  const ClientSessionOptions& options = context_->options;
  OpenedRange opened;
  opened.session_salt = options.salt;
  opened.range = range.number;
  opened.attempt = range.attempt;
  opened.is_client = true;
  opened.begins = !std::get<ClientRange::Opening>(range.phase).server_begins;
  opened.theirs = facts.sum;
  opened.pruning = facts.pruning;
  opened.prunes = range.pruned;
  opened.own_pass_rate = context_->offer.pass_rate;
  opened.their_pass_rate = context_->answer.existing_pass_rate;
  opened.counters = CountersFor(context_->source->EstimateKeys(), context_->answer.keys);
  opened.common = static_cast<double>(facts.common);
  opened.most_message_bytes = options.most_message_bytes;
  opened.memory = options.memory;
  opened.filters = range.filters.get();
  return opened;
}

absl::Status RangeReconciler::Begin(ClientRange* range, const Facts& facts) {
  const MatchingOptions options =
      OptionsFor(Opened(*range, facts), range->keys, context_->options.planner);
  const absl::Status affordable = CheckMostBytes(*range, options);
  if (!affordable.ok()) return affordable;
  range->keys_memory.Release();  // the Matching holds them from now on
  range->phase = std::make_unique<Reconciliation>(context_->source, range->interval,
                                                  std::move(range->keys.candidates), options);
  return Continue(range);
}

absl::Status RangeReconciler::CheckMostBytes(const ClientRange& range,
                                             const MatchingOptions& options) const {
  const uint64_t most_bytes = context_->options.most_bytes;
  RangeEstimate first_side = {static_cast<double>(range.keys.candidates.size()),
                              options.their_count, options.common, options.common_error};
  if (!options.begins) std::swap(first_side.mine, first_side.theirs);
  if (most_bytes == 0 || first_side.mine < 1 || first_side.theirs < 1) return absl::OkStatus();
  const TurnLimit turns = {options.begins,
                           TurnsOf(options.planner.most_round_trips, options.begins)};
  const double range_bytes = CheapestStep(first_side, turns, 0, options.planner).bits / 8;
  const double keys_of_range = std::max(1.0, options.begins ? first_side.mine : first_side.theirs);
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

absl::Status RangeReconciler::Receive(const Step& step) {
  const absl::StatusOr<ClientRange*> range = context_->ranges.Find(step.range);
  if (!range.ok()) return range.status();
  if (std::exchange((*range)->ignores_step, false)) return absl::OkStatus();
  auto* const reconciling = std::get_if<ClientRange::Reconciling>(&(*range)->phase);
  if (reconciling == nullptr || (*reconciling)->matching.state() != Matching::State::kTheirTurn) {
    return absl::InvalidArgumentError("the server spoke out of turn");
  }
  const absl::Status status = (*reconciling)->matching.Receive(step.message);
  return status.ok() ? Continue(*range) : status;
}

absl::Status RangeReconciler::Continue(ClientRange* range) {
  Matching& matching = std::get<ClientRange::Reconciling>(range->phase)->matching;
  if (matching.state() == Matching::State::kMyTurn) {
    Step step;
    step.range = range->number;
    absl::Status status = matching.NextStep(&step.message);
    if (status.ok()) status = context_->Send(step, range);
    if (!status.ok()) return status;
  }
  const bool contradicted = matching.state() == Matching::State::kContradicted;
  if (!contradicted && matching.state() != Matching::State::kReconciled) return absl::OkStatus();
  const Matching::Counts& counts = matching.counts();
  context_->statistics.filters_built += counts.filters_built;
  context_->statistics.filters += counts.filters_sent + counts.filters_received;
  if (!contradicted) return Finish(range);
  return context_->Repeat(range, absl::AbortedError("the sums of the matched keys differ"));
}

absl::Status RangeReconciler::Finish(ClientRange* range) {
  Matching& matching = std::get<ClientRange::Reconciling>(range->phase)->matching;
  CountEnding(matching.ending());
  // The last step is the server's, and its first one comes with the opening.
  uint64_t& most_round_trips = context_->statistics.most_range_round_trips;
  most_round_trips = std::max(most_round_trips, matching.counts().turns / 2);
  ClientRange::Reconciled reconciled;
  reconciled.matched.some = matching.TakeMatched();
  reconciled.matched_keys = reconciled.matched.some.size();
  reconciled.counts = matching.counts();
  const uint64_t bytes = reconciled.matched.some.capacity() * sizeof(Candidate);
  range->phase = std::move(reconciled);  // with all that the Matching held
  return range->keys_memory.Resize(bytes, "matched keys");
}

void RangeReconciler::CountEnding(Part ending) {
  Statistics& statistics = context_->statistics;
  switch (ending) {
    case Part::kKeys:
      statistics.ranges_by_keys++;
      break;
    case Part::kSymbols:
      statistics.ranges_by_symbols++;
      break;
    case Part::kSketch:
      statistics.ranges_by_sketch++;
      break;
    default:
      statistics.ranges_by_list++;
  }
}

}  // namespace rocksieve::join
