// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/server_ranges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/join_key/join_key_source.h"
#include "lib/join/matching/matching_range.h"
#include "lib/join/operation.h"
#include "lib/join/rows/source.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

using TooLarge = ServerRange::TooLarge;
using Reconciling = ServerRange::Reconciling;
using Reconciled = ServerRange::Reconciled;

uint64_t BytesOf(const KeyInterval& interval) {
  return interval.begin.size() + (interval.end ? interval.end->size() : 0);
}

// Counts that no honest side has: what follows from them would be taken for the range's.
absl::Status CheckCounts(const Open& open) {
  if (open.interval.end && *open.interval.end < open.interval.begin) {
    return absl::InvalidArgumentError("the client opened a range that ends before it begins");
  }
  return CheckKeyCounts("the client", open.sum.count, open.pruning);
}

// A range that was too large comes again with the end that it was told: its keys are here.
bool IsCutAsTold(const ServerRange& range, const Open& open, const ExistingFilterUse& existing) {
  const auto* const kept = std::get_if<TooLarge>(&range.state);
  return kept != nullptr && range.attempt == open.attempt &&
         kept->used_existing == (existing.set != nullptr) &&
         range.interval.begin == open.interval.begin && kept->keys.next_key == open.interval.end;
}

}  // namespace

RowStream::RowStream(Source* source, const Fetch& fetch, KeyInterval interval, MatchedKeys keys,
                     MemoryHold memory, bool matched, Comparison comparison)
    : fetch_(fetch),
      interval_(std::move(interval)),
      keys_(std::move(keys)),
      memory_(std::move(memory)),
      matched_(matched),
      comparison_(comparison),
      cursor_(source, interval_),
      sweep_(keys_),
      batch_(/*with_keys=*/!matched),
      ended_(keys_.all && !matched) {}

absl::StatusOr<Rows> RowStream::Next() {
  Rows rows;
  rows.range = fetch_.range;
  rows.attempt = fetch_.attempt;
  Row row;
  while (batch_.pending_bytes() < kRowBatchBytes && !ended_) {
    ended_ = !cursor_.Next(&row);
    if (ended_ || sweep_.IsMatched(cursor_.ordinal()) != matched_) continue;
    comparison_ == Comparison::kNone ? batch_.Add(row) : AddCompared(row);
  }
  if (!cursor_.status().ok()) return Naming(interval_, cursor_.status());
  batch_.TakeBatch(&rows.batch);
  rows.last = ended_ && batch_.pending_bytes() == 0;
  return rows;
}

// The join key without its digest, which stands before the value; of changed rows, no key.
void RowStream::AddCompared(const Row& row) {
  value_.clear();
  if (comparison_ == Comparison::kRows) {
    value_.append(DigestBytesOf(row.key)).append(row.value);
  }
  if (!sweep_.IsChanged(cursor_.ordinal())) {
    batch_.Add({row.key.substr(0, row.key.size() - kWholeRowDigestBytes), value_});
  } else if (comparison_ == Comparison::kRows) {
    batch_.AddKnown(value_);
  }
}

const char* ServerRanges::StateOf(uint64_t range) const {
  const auto open = ranges_.find(range);
  if (open != ranges_.end()) return open->second.StateName();
  const bool sending =
      std::any_of(streams_.begin(), streams_.end(),
                  [range](const RowStream& rows) { return rows.range() == range; });
  return sending ? "being sent" : "not open";
}

absl::Status ServerRanges::CheckOpen(const Open& open) const {
  const auto found = ranges_.find(open.range);
  bool may_be_opened = true;
  if (found != ranges_.end()) {
    const ServerRange& range = found->second;
    const bool too_large = std::holds_alternative<TooLarge>(range.state);
    may_be_opened = open.attempt > range.attempt || (too_large && open.attempt == range.attempt);
  }
  for (const RowStream& rows : streams_) {
    if (rows.range() == open.range) may_be_opened &= open.attempt > rows.attempt();
  }
  if (!may_be_opened) {
    return absl::InvalidArgumentError(absl::StrCat("the client opened range ", open.range,
                                                   " in attempt ", open.attempt, ", which is ",
                                                   StateOf(open.range), " already"));
  }
  const size_t others = ranges_.size() - (found != ranges_.end() ? 1 : 0) + streams_.size();
  if (others >= options_.most_ranges) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the client opened more than ", options_.most_ranges, " ranges at once"));
  }
  if (open.row_sum.has_value() != agreement_.compares()) {
    return absl::InvalidArgumentError(
        "the client opened a range in another way than it said that it would");
  }
  return CheckCounts(open);
}

ExistingFilterUse ServerRanges::ExistingFilterUseFor(const Open& open) const {
  if (open.attempt > 0 || !existing_->usable() || agreement_.compares()) return {};
  if (existing_->role() == ExistingFilterExchange::Role::kReceiver) {
    return existing_->set()->Covers(open.interval.end) ? ExistingFilterUse{existing_->set(), true}
                                                       : ExistingFilterUse{};
  }
  return open.pruning.filters ? ExistingFilterUse{existing_->set(), false} : ExistingFilterUse{};
}

bool ServerRanges::PrunedWrongly(const Open& open, const ExistingFilterUse& existing,
                                 const RangeKeys& keys) const {
  const Pruning& pruning = open.pruning;
  return pruning.filters &&
         (existing.set == nullptr || keys.uncovered ||
          !existing.set->IsCoveredBy(*pruning.filters, pruning.digest, open.interval.end));
}

absl::Status ServerRanges::ScanFor(const Open& open, const ExistingFilterUse& existing,
                                   RangeKeys* keys, MemoryHold* memory) {
  const auto found = ranges_.find(open.range);
  if (found != ranges_.end()) {
    ServerRange had = std::move(found->second);
    ranges_.erase(found);
    if (IsCutAsTold(had, open, existing)) {
      *keys = std::get<TooLarge>(std::move(had.state)).keys;
      *memory = std::move(had.memory);
      keys->next_key.reset();
      return absl::OkStatus();
    }
  }
  const absl::Status status =
      ScanKeys(source_, open.interval, RangeSalt(agreement_.salt, open.range, open.attempt),
               options_.most_keys_per_range, keys, existing, memory, agreement_.compares());
  return Naming(open.interval, status);
}

absl::Status ServerRanges::Receive(const Open& open) {
  RETURN_IF_ERROR(WaitFor(open.range));
  RETURN_IF_ERROR(CheckOpen(open));
  const ExistingFilterUse existing = ExistingFilterUseFor(open);
  RangeKeys keys;
  ServerRange range(open.interval, open.attempt, options_.memory);
  RETURN_IF_ERROR(ScanFor(open, existing, &keys, &range.memory));
  // The reader's and the stream's copies of the interval are in it as well.
  RETURN_IF_ERROR(range.memory.Grow(4 * BytesOf(open.interval), "fences of a range"));

  Facts facts;
  facts.range = open.range;
  facts.attempt = open.attempt;
  facts.sum = keys.sum;
  if (PrunedWrongly(open, existing, keys)) {
    existing_->Withdraw();
    facts.outcome = Facts::Outcome::kWithdrawn;
    return outbox_->Add(Encode(facts));
  }
  if (existing.prunes) {
    facts.pruning.filters = existing.set->size();
    facts.pruning.digest = existing.set->DigestOf(existing.set->size());
    facts.pruning.candidates = keys.candidates.size();
  }
  if (keys.next_key) {
    facts.outcome = Facts::Outcome::kTooLarge;
    facts.next_key = *keys.next_key;
    range.state = TooLarge{std::move(keys), existing.set != nullptr};
  } else if (open.row_sum ? keys.row_sum == *open.row_sum : keys.sum == open.sum) {
    facts.outcome = Facts::Outcome::kEqual;
    if (open.row_sum) facts.sum = keys.row_sum;
    range.memory.Shrink(keys.MemoryBytes());
    range.state = Reconciled{/*all=*/true, {}};
    if (!SendsRows(agreement_.operation)) return outbox_->Add(Encode(facts));
  } else {
    RETURN_IF_ERROR(BeginReconciling(open, existing.prunes, std::move(keys), &range, &facts));
  }
  const bool reconciles = std::holds_alternative<Reconciling>(range.state);
  ranges_.insert_or_assign(open.range, std::move(range));
  RETURN_IF_ERROR(outbox_->Add(Encode(facts)));
  return reconciles ? Continue(open.range, std::nullopt) : absl::OkStatus();
}

absl::Status ServerRanges::BeginReconciling(const Open& open, bool prunes, RangeKeys keys,
                                            ServerRange* range, Facts* facts) {
  OpenedRange opened;
  const uint64_t salt = RangeSalt(agreement_.salt, open.range, open.attempt);
  opened.options.salt = salt;
  opened.options.attempt = open.attempt;
  opened.options.begins = open.server_begins;
  opened.options.planner = options_.planner;
  opened.options.most_message_bytes = options_.most_message_bytes;
  opened.options.memory = options_.memory;
  opened.theirs = open.sum;
  opened.pruning = open.pruning;
  opened.prunes = prunes;
  opened.own_pass_rate = agreement_.own_pass_rate;
  opened.their_pass_rate = agreement_.their_pass_rate;
  if (!open.estimator.empty()) {
    double common = 0;
    RETURN_IF_ERROR(
        EstimateCommon(open.estimator, opened.their_candidates(), keys.candidates, salt, &common));
    opened.common = common;
    opened.counters = CountersIn(open.estimator);
  }
  const MatchingOptions options = OptionsFor(opened, keys);
  facts->common = static_cast<uint64_t>(options.common);
  auto of = Reconciliation::Of::kKeys;
  if (agreement_.compares()) {
    const bool same_keys = keys.sum == open.sum;
    of = same_keys ? Reconciliation::Of::kValuesOfSameKeys : Reconciliation::Of::kKeysThenValues;
    if (same_keys) facts->outcome = Facts::Outcome::kSameKeys;
    const size_t counters = CountersFor(source_->EstimateKeys(), agreement_.their_keys);
    if (!same_keys && !open.server_begins && counters != 0 && !keys.candidates.empty()) {
      facts->estimator = EncodeEstimator(keys.candidates, counters, salt);
    }
  }
  // The Reconciliation holds them from now on.
  range->memory.Shrink(keys.MemoryBytes());
  range->state = std::make_unique<Reconciliation>(source_, range->interval, &keys, options, of);
  return absl::OkStatus();
}

absl::Status ServerRanges::Receive(Step step) {
  RETURN_IF_ERROR(WaitFor(step.range));
  const auto found = ranges_.find(step.range);
  auto* const reconciling =
      found == ranges_.end() ? nullptr : std::get_if<Reconciling>(&found->second.state);
  if (reconciling == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the client spoke of range ", step.range,
                                                   ", which is ", StateOf(step.range),
                                                   ", out of turn"));
  }
  if ((*reconciling)->state() != Reconciliation::State::kTheirTurn) {
    return absl::InvalidArgumentError("the client spoke out of turn");
  }
  return Continue(step.range, std::move(step.message));
}

absl::Status ServerRanges::Continue(uint64_t number, std::optional<std::string> heard) {
  Reconciliation* const reconciliation = std::get<Reconciling>(ranges_.at(number).state).get();
  const absl::Status status = turns_.Begin(number, reconciliation, std::move(heard));
  return status.ok() && options_.workers == nullptr ? WaitFor(number) : status;
}

absl::Status ServerRanges::WaitFor(uint64_t number) {
  std::optional<RangeTurns::Done> done = turns_.WaitFor(number);
  return done ? Take(*std::move(done)) : absl::OkStatus();
}

absl::Status ServerRanges::TakeDone() {
  absl::Status status;
  while (status.ok()) {
    std::optional<RangeTurns::Done> done = turns_.Take();
    if (!done) break;
    status = Take(*std::move(done));
  }
  return status;
}

absl::Status ServerRanges::Take(RangeTurns::Done done) {
  ServerRange& range = ranges_.at(done.range);
  absl::Status status = Naming(range.interval, done.status);
  for (std::string& step : done.steps) {
    if (status.ok()) status = outbox_->Add(Encode(Step{done.range, std::move(step)}));
  }
  if (!status.ok()) return status;
  const Reconciliation& reconciliation = *std::get<Reconciling>(range.state);
  if (reconciliation.state() != Reconciliation::State::kReconciled) return absl::OkStatus();
  if (SendsRows(agreement_.operation)) return FinishReconciling(&range);
  ranges_.erase(done.range);
  return absl::OkStatus();
}

absl::Status ServerRanges::FinishReconciling(ServerRange* range) const {
  Reconciled reconciled = std::get<Reconciling>(range->state)->TakeMatched();
  const uint64_t bytes = reconciled.MemoryBytes();
  range->state = std::move(reconciled);  // with all that the Reconciliation held
  return range->memory.Grow(bytes, "matched keys");
}

absl::Status ServerRanges::Receive(const Fetch& fetch) {
  RETURN_IF_ERROR(WaitFor(fetch.range));
  const auto found = ranges_.find(fetch.range);
  if (found != ranges_.end() && fetch.attempt == found->second.attempt) {
    const auto* const reconciling = std::get_if<Reconciling>(&found->second.state);
    const bool done = reconciling != nullptr && (*reconciling)->may_be_fetched();
    RETURN_IF_ERROR(done ? FinishReconciling(&found->second) : absl::OkStatus());
  }
  if (found == ranges_.end() || !std::holds_alternative<Reconciled>(found->second.state) ||
      fetch.attempt != found->second.attempt) {
    return absl::InvalidArgumentError(absl::StrCat("the client wants the rows of range ",
                                                   fetch.range, ", attempt ", fetch.attempt,
                                                   ", which is ", StateOf(fetch.range)));
  }
  ServerRange& range = found->second;
  streams_.emplace_back(source_, fetch, std::move(range.interval),
                        std::get<Reconciled>(std::move(range.state)), std::move(range.memory),
                        SendsMatched(agreement_.operation), agreement_.comparison);
  ranges_.erase(found);
  return absl::OkStatus();
}

absl::StatusOr<Rows> ServerRanges::NextRows() {
  const uint64_t before = streams_.front().rows_sent();
  absl::StatusOr<Rows> rows = streams_.front().Next();
  rows_sent_ += streams_.front().rows_sent() - before;
  if (rows.ok() && rows->last) streams_.pop_front();
  return rows;
}

}  // namespace rocksieve::join
