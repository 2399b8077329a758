// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/range_reconciler.h"

#include <algorithm>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/candidates.h"
#include "lib/join/rows/source.h"

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
  OpenedRange opened = Opened(*range, facts);
  if (!facts.estimator.empty()) {
    double common = 0;
    const absl::Status status =
        EstimateCommon(facts.estimator, facts.sum.count, range->keys.candidates,
                       context_->SaltOf(*range), &common);
    if (!status.ok()) return status;
    opened.common = common;
    opened.counters = CountersIn(facts.estimator);
    // As the one with fewer keys begins: those that it alone has cost most.
    opened.begins = range->keys.sum.count < facts.sum.count;
    if (!opened.begins) {
      Step yield{range->number, Reconciliation::YieldStep(common, opened.counters)};
      const absl::Status sent = context_->Send(yield, range);
      if (!sent.ok()) return sent;
    }
  }
  const MatchingOptions options = OptionsFor(opened, range->keys, context_->options.planner);
  const bool same_keys = facts.outcome == Facts::Outcome::kSameKeys;
  const absl::Status affordable = same_keys ? absl::OkStatus() : CheckMostBytes(*range, options);
  if (!affordable.ok()) return affordable;
  range->keys_memory.Release();  // the Reconciliation holds them from now on
  using Of = Reconciliation::Of;
  range->phase =
      std::make_unique<Reconciliation>(context_->source, range->interval, &range->keys, options,
                                       same_keys              ? Of::kValuesOfSameKeys
                                       : context_->compares() ? Of::kKeysThenValues
                                                              : Of::kKeys);
  return Continue(range, std::nullopt);
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
  const double range_bytes =
      CheapestStep(first_side, turns, /*begun=*/{}, options.planner).bits() / 8;
  const double keys_of_range = std::max(1.0, options.begins ? first_side.mine : first_side.theirs);
  const double ranges =
      std::max(1.0, static_cast<double>(context_->source->EstimateKeys()) / keys_of_range);
  const WireBytes& sent = context_->statistics.sent;
  const WireBytes& received = context_->statistics.received;
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

absl::Status RangeReconciler::Receive(Step step) {
  const absl::StatusOr<ClientRange*> range = context_->ranges.Find(step.range);
  if (!range.ok()) return range.status();
  if (std::exchange((*range)->ignores_step, false)) return absl::OkStatus();
  auto* const reconciling = std::get_if<ClientRange::Reconciling>(&(*range)->phase);
  if (reconciling == nullptr || (*reconciling)->state() != Reconciliation::State::kTheirTurn) {
    return absl::InvalidArgumentError("the server spoke out of turn");
  }
  return Continue(*range, std::move(step.message));
}

absl::Status RangeReconciler::Continue(ClientRange* range, std::optional<std::string> heard) {
  Reconciliation* const reconciliation = std::get<ClientRange::Reconciling>(range->phase).get();
  RangeTurns& turns = context_->turns;
  const absl::Status status = turns.Begin(range->number, reconciliation, std::move(heard));
  return status.ok() && context_->options.workers == nullptr ? Take(*turns.WaitFor(range->number))
                                                             : status;
}

absl::Status RangeReconciler::WaitFor(uint64_t range) {
  std::optional<RangeTurns::Done> done = context_->turns.WaitFor(range);
  return done ? Take(*std::move(done)) : absl::OkStatus();
}

absl::Status RangeReconciler::TakeDone() {
  while (std::optional<RangeTurns::Done> done = context_->turns.Take()) {
    const absl::StatusOr<ClientRange*> range = context_->ranges.Find(done->range);
    if (!range.ok()) return range.status();
    const absl::Status status = Take(*std::move(done));
    if (!status.ok()) return Naming((*range)->interval, status);
  }
  return absl::OkStatus();
}

absl::Status RangeReconciler::Take(RangeTurns::Done done) {
  const absl::StatusOr<ClientRange*> found = context_->ranges.Find(done.range);
  if (!found.ok()) return found.status();
  ClientRange* const range = *found;
  absl::Status status = std::move(done.status);
  for (std::string& step : done.steps) {
    if (status.ok()) status = context_->Send(Step{range->number, std::move(step)}, range);
  }
  if (!status.ok()) return status;
  const Reconciliation& reconciliation = *std::get<ClientRange::Reconciling>(range->phase);
  const bool contradicted = reconciliation.state() == Reconciliation::State::kContradicted;
  if (!contradicted && reconciliation.state() != Reconciliation::State::kReconciled) {
    return absl::OkStatus();
  }
  const MatchingCounts counts = reconciliation.counts();
  context_->statistics.filters_built += counts.filters_built;
  context_->statistics.filters += counts.filters_sent + counts.filters_received;
  if (!contradicted) return Finish(range);
  // What the server goes on with, as soon as it has said its sum of the keys.
  range->ignores_step = context_->compares() && !reconciliation.compares_values();
  return context_->Repeat(range, absl::AbortedError("the sums of the matched keys differ"));
}

absl::Status RangeReconciler::Finish(ClientRange* range) {
  Reconciliation& reconciliation = *std::get<ClientRange::Reconciling>(range->phase);
  if (reconciliation.ending()) CountEnding(*reconciliation.ending());
  // The last step is the server's, and its first one comes with the opening.
  uint64_t& most_round_trips = context_->statistics.most_range_round_trips;
  most_round_trips = std::max(most_round_trips, reconciliation.counts().turns / 2);
  ClientRange::Reconciled reconciled;
  reconciled.counts = reconciliation.counts();
  reconciled.matched = reconciliation.TakeMatched();
  reconciled.matched_keys = reconciled.matched.some.size();
  const uint64_t bytes = reconciled.matched.MemoryBytes();
  range->phase = std::move(reconciled);  // with all that the Reconciliation held
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
