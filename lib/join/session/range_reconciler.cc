// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/range_reconciler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/matching_range.h"
#include "lib/join/rows/source.h"
#include "support/return_if_error.h"

namespace rocksieve::join {

OpenedRange RangeReconciler::Opened(const ClientRange& range, const Facts& facts) const {
  const ClientSessionOptions& session = context_->options;
  OpenedRange opened;
  MatchingOptions& options = opened.options;
  options.salt = context_->SaltOf(range);
  options.attempt = range.attempt;
  options.is_client = true;
  options.begins = !std::get<ClientRange::Opening>(range.phase).server_begins;
  options.planner = session.planner;
  options.most_message_bytes = session.most_message_bytes;
  options.memory = session.memory;
  options.filters = range.filters;
  opened.theirs = facts.sum;
  opened.pruning = facts.pruning;
  opened.prunes = range.pruned;
  opened.own_pass_rate = context_->offer.pass_rate;
  opened.their_pass_rate = context_->answer.existing_pass_rate;
  opened.counters = CountersFor(context_->source->EstimateKeys(), context_->answer.keys);
  opened.common = static_cast<double>(facts.common);
  return opened;
}

absl::Status RangeReconciler::Begin(ClientRange* range, const Facts& facts) {
  OpenedRange opened = Opened(*range, facts);
  if (!facts.estimator.empty()) {
    double common = 0;
    RETURN_IF_ERROR(EstimateCommon(facts.estimator, facts.sum.count, range->keys.candidates,
                                   context_->SaltOf(*range), &common));
    opened.common = common;
    opened.counters = CountersIn(facts.estimator);
    // As the one with fewer keys begins: those that it alone has cost most.
    opened.options.begins = range->keys.sum.count < facts.sum.count;
    if (!opened.options.begins) {
      Step yield{range->number, Reconciliation::YieldStep(common, opened.counters)};
      RETURN_IF_ERROR(context_->Send(yield, range));
    }
  }
  const MatchingOptions options = OptionsFor(opened, range->keys);
  const bool same_keys = facts.outcome == Facts::Outcome::kSameKeys;
  RETURN_IF_ERROR(same_keys ? absl::OkStatus() : CheckMostBytes(*range, options));
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
  ASSIGN_OR_RETURN(ClientRange* const range, context_->ranges.Find(step.range));
  if (std::exchange(range->ignores_step, false)) return absl::OkStatus();
  auto* const reconciling = std::get_if<ClientRange::Reconciling>(&range->phase);
  if (reconciling == nullptr || (*reconciling)->state() != Reconciliation::State::kTheirTurn) {
    return absl::InvalidArgumentError("the server spoke out of turn");
  }
  return Continue(range, std::move(step.message));
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
    ASSIGN_OR_RETURN(ClientRange* const range, context_->ranges.Find(done->range));
    const absl::Status status = Take(*std::move(done));
    if (!status.ok()) return Naming(range->interval, status);
  }
  return absl::OkStatus();
}

absl::Status RangeReconciler::Take(RangeTurns::Done done) {
  ASSIGN_OR_RETURN(ClientRange* const range, context_->ranges.Find(done.range));
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
  ++(ending == Part::kKeys      ? statistics.ranges_by_keys
     : ending == Part::kSymbols ? statistics.ranges_by_symbols
     : ending == Part::kSketch  ? statistics.ranges_by_sketch
                                : statistics.ranges_by_list);
}

namespace {

constexpr double kShareOfTheirLimit = 0.9;  // their ranges are not all alike
constexpr double kRangesOfTheirLimit = 2;   // for so many under way it is meant
constexpr double kFewKeys = 1000;           // ranges are not cut smaller because of the other side
constexpr double kEstimatedKeys = 1.02;     // what estimates of our own keys are wrong by
// One after another of the same range: an honest side cuts a range once, and once more if it scans
// it again without the filters that were withdrawn meanwhile.
constexpr uint32_t kMostCuts = 2;

}  // namespace

// Ranges are as large as both sides allow, and about equal: a small one costs nearly as much as a
// large one.
void RangeReconciler::BeginOpening() {
  const HelloAnswer& answer = context_->answer;
  const auto mine = static_cast<double>(std::max<uint64_t>(1, context_->source->EstimateKeys()));
  const auto theirs = static_cast<double>(std::max<uint64_t>(1, answer.keys));
  const auto ahead = static_cast<double>(context_->options.ranges_ahead);
  const double fits_there = kShareOfTheirLimit * std::min(1.0, kRangesOfTheirLimit / ahead) *
                            static_cast<double>(answer.most_keys_per_range) *
                            std::min(1.0, mine / theirs);
  const double most = std::max(1.0, std::min(static_cast<double>(context_->options.keys_per_range),
                                             std::max(fits_there, kFewKeys)));
  const double ranges = std::ceil(mine / most);
  keys_per_range_ =
      static_cast<uint64_t>(std::min(most, std::ceil(kEstimatedKeys * mine / ranges)));
  // Where ranges are larger than fits, fewer of them are under way.
  ranges_ahead_ = static_cast<size_t>(
      std::min(ahead, std::max(kRangesOfTheirLimit, ahead * fits_there / most)));
}

absl::Status RangeReconciler::OpenNext() {
  ClientRanges& ranges = context_->ranges;
  // The server knows of those that were opened once, wherever they are cut.
  const auto under_way = static_cast<size_t>(std::count_if(
      ranges.begin(), ranges.end(), [](const ClientRange& r) { return r.opened.has_value(); }));
  for (ClientRange& range : ranges) {
    if (!range.Is<ClientRange::ToOpen>()) continue;
    const bool may = range.opened || under_way < ranges_ahead_;
    return may ? Open(&range, /*ends_at_rest=*/false) : absl::OkStatus();
  }
  if (under_way >= ranges_ahead_ || !ranges.rest()) return absl::OkStatus();
  std::optional<std::string> end = ranges.rest()->end;
  if (!context_->existing.MayOpen(ranges.rest()->begin, &end)) return absl::OkStatus();
  const absl::StatusOr<ClientRange*> range = ranges.AddNext(std::move(end));
  return range.ok() ? Open(*range, /*ends_at_rest=*/true) : range.status();
}

absl::Status RangeReconciler::Scan(ClientRange* range, const ExistingFilterUse& existing) {
  const ClientSessionOptions& options = context_->options;
  const uint64_t salt = context_->SaltOf(*range);
  const bool first = !range->opened;
  if (first) range->opened = std::chrono::steady_clock::now();
  absl::Status status;
  bool scanned = true;
  if (options.shared != nullptr && !context_->compares() && first && range->number % 2 == 0) {
    status = options.shared->Take(context_->source, range->interval, salt, options.keys_per_range,
                                  &range->keys, &range->filters, &scanned);
  } else {
    range->filters = nullptr;
    // What was scanned before is not cut again.
    status = ScanKeys(context_->source, range->interval, salt,
                      first ? keys_per_range_ : options.keys_per_range, &range->keys, existing,
                      &range->keys_memory, context_->compares());
  }
  if (status.ok()) {
    status = range->keys_memory.Resize(range->keys.MemoryBytes(), "keys of a range");
  }
  if (scanned) context_->statistics.keys_hashed += range->keys.sum.count;
  return status;
}

// Only the first attempt relies on existing SST filters.
ExistingFilterUse RangeReconciler::ExistingFilterUseFor(const ClientRange& range) const {
  const ExistingFilterExchange& existing = context_->existing;
  if (range.attempt > 0 || context_->compares() || !existing.usable() ||
      !existing.set()->Covers(range.interval.end)) {
    return {};
  }
  return {existing.set(), existing.role() == ExistingFilterExchange::Role::kReceiver};
}

absl::Status RangeReconciler::Open(ClientRange* range, bool ends_at_rest) {
  ExistingFilterUse existing;
  for (;;) {
    existing = ExistingFilterUseFor(*range);
    const absl::Status status = Scan(range, existing);
    if (!status.ok()) return Naming(range->interval, status);
    if (!range->keys.uncovered) break;
    RETURN_IF_ERROR(context_->RepeatWithoutExisting(range));
  }
  const RangeKeys& keys = range->keys;
  if (keys.next_key && *keys.next_key <= range->interval.begin) {
    return Naming(range->interval, absl::DataLossError("the rows here do not come in the order of "
                                                       "their join keys: their file is damaged"));
  }
  if (keys.next_key && ends_at_rest) {
    context_->ranges.GiveBack(range, *keys.next_key);
  } else if (keys.next_key) {
    RETURN_IF_ERROR(context_->ranges.CutShort(range, *keys.next_key));
  }
  join::Open open;
  open.range = range->number;
  open.attempt = range->attempt;
  open.interval = range->interval;
  open.sum = keys.sum;
  range->pruned = existing.prunes;
  if (existing.prunes) {
    open.pruning.filters = existing.set->size();
    open.pruning.digest = existing.set->DigestOf(existing.set->size());
    open.pruning.candidates = keys.candidates.size();
    range->pruned_keys = keys.sum.count - keys.candidates.size();
    context_->statistics.sst_filters_pruned_keys += range->pruned_keys;
  }
  open.server_begins = ServerBegins(*range, existing);
  const size_t counters = CountersFor(context_->source->EstimateKeys(), context_->answer.keys);
  if (context_->compares()) {
    // Rows are mostly equal: the server sends an estimator, if it needs to, and this side begins.
    open.row_sum = keys.row_sum;
    open.server_begins = open.server_begins && counters == 0;
  } else if (counters != 0 && !keys.candidates.empty() && existing.set == nullptr) {
    open.estimator = EncodeEstimator(keys.candidates, counters, context_->SaltOf(*range));
  }
  range->phase = ClientRange::Opening{open.server_begins};
  return context_->Send(open, range);
}

// The smaller side begins: what it says is shorter, and says more. Where this side cannot know how
// many candidates the other has, it takes what is to be expected.
bool RangeReconciler::ServerBegins(const ClientRange& range,
                                   const ExistingFilterUse& existing) const {
  const auto own_keys = static_cast<double>(context_->source->EstimateKeys());
  const auto their_keys = static_cast<double>(context_->answer.keys);
  if (existing.set == nullptr || own_keys < 1) return their_keys <= 2 * own_keys;
  const auto mine = static_cast<double>(range.keys.candidates.size());
  double theirs = their_keys / own_keys * static_cast<double>(range.keys.sum.count);
  if (!existing.prunes) theirs = std::min(mine, theirs) / 2 + context_->offer.pass_rate * theirs;
  return theirs <= 2 * mine;
}

absl::Status RangeReconciler::CheckCounts(const ClientRange& range, const Facts& facts) const {
  const bool sent =
      range.attempt == 0 && context_->existing.role() == ExistingFilterExchange::Role::kSender;
  if (facts.pruning.filters && !sent) {
    return absl::InvalidArgumentError("the server dropped keys for no reason");
  }
  return CheckKeyCounts("the server", facts.sum.count, facts.pruning);
}

bool RangeReconciler::PrunedRightly(const ClientRange& range, const Pruning& pruning) const {
  const ExistingFilterSet* const set = context_->existing.set();
  return set != nullptr && set->IsCoveredBy(*pruning.filters, pruning.digest, range.interval.end);
}

absl::Status RangeReconciler::Receive(const Facts& facts) {
  ASSIGN_OR_RETURN(ClientRange* const range, context_->ranges.Find(facts.range));
  const auto* const opening = std::get_if<ClientRange::Opening>(&range->phase);
  if (opening == nullptr || range->attempt != facts.attempt) {
    return absl::InvalidArgumentError("the server opened a range that it was not asked to");
  }
  RETURN_IF_ERROR(CheckCounts(*range, facts));
  range->theirs = facts.sum;
  if (facts.pruning.filters && !PrunedRightly(*range, facts.pruning)) {
    range->ignores_step = facts.outcome == Facts::Outcome::kOpened && opening->server_begins;
    return context_->RepeatWithoutExisting(range);
  }
  if (facts.pruning.filters && facts.outcome != Facts::Outcome::kTooLarge) {
    context_->statistics.sst_filters_pruned_keys += facts.sum.count - facts.pruning.candidates;
  }
  switch (facts.outcome) {
    case Facts::Outcome::kTooLarge:
      return Cut(range, facts.next_key);
    case Facts::Outcome::kWithdrawn:
      if (range->attempt > 0 ||
          context_->existing.role() != ExistingFilterExchange::Role::kReceiver) {
        return absl::InvalidArgumentError("the server withdrew filters that were not used");
      }
      return context_->RepeatWithoutExisting(range);
    case Facts::Outcome::kEqual:
      return TakeAsEqual(range);
    case Facts::Outcome::kSameKeys:
      if (!context_->compares() || !(facts.sum == range->keys.sum)) {
        return absl::InvalidArgumentError("the server takes different keys for the same");
      }
      break;
    case Facts::Outcome::kOpened:
      break;
  }
  return Begin(range, facts);
}

absl::Status RangeReconciler::Cut(ClientRange* range, const std::string& next_key) {
  if (!range->interval.Contains(next_key) || next_key == range->interval.begin) {
    return absl::InvalidArgumentError("the server cut a range outside of it");
  }
  if (++range->cuts > kMostCuts) {
    return absl::InvalidArgumentError(
        "the server cut a range again that ends where it wanted it to");
  }
  context_->statistics.sst_filters_pruned_keys -=
      std::exchange(range->pruned_keys, 0);  // scanned again
  range->phase = ClientRange::ToOpen();
  return context_->ranges.CutShort(range, next_key);
}

absl::Status RangeReconciler::TakeAsEqual(ClientRange* range) {
  const RangeKeys& keys = range->keys;
  if (!(range->theirs == (context_->compares() ? keys.row_sum : keys.sum))) {
    return absl::InvalidArgumentError("the server takes different ranges for equal");
  }
  range->theirs = keys.sum;
  context_->statistics.equal_ranges++;
  range->keys.candidates = {};
  range->keys.digests = {};
  range->keys_memory.Release();
  range->phase =
      ClientRange::Reconciled{{/*all=*/true, {}}, /*equal=*/true, range->theirs.count, {}};
  return absl::OkStatus();
}

}  // namespace rocksieve::join
