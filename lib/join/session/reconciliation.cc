// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/reconciliation.h"

#include <algorithm>
#include <utility>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/matching/common_estimate.h"
#include "lib/sketch/difference_estimator.h"

namespace rocksieve::join {
namespace {

// Nothing if existing SST filters have dropped no keys of either side.
std::optional<CommonKeys> CommonByPruning(const OpenedRange& range, const RangeKeys& keys) {
  if (range.pruning.filters) {
    return CommonAfterExistingFilters(static_cast<double>(range.theirs.count),
                                      static_cast<double>(range.pruning.candidates),
                                      range.own_pass_rate);
  }
  if (!range.prunes) return std::nullopt;
  return CommonAfterExistingFilters(static_cast<double>(keys.sum.count),
                                    static_cast<double>(keys.candidates.size()),
                                    range.their_pass_rate);
}

}  // namespace

MatchingOptions OptionsFor(const OpenedRange& range, const RangeKeys& keys,
                           const PlannerOptions& wanted) {
  MatchingOptions options;
  options.salt = RangeSalt(range.session_salt, range.range, range.attempt);
  options.attempt = range.attempt;
  options.is_client = range.is_client;
  options.begins = range.begins;
  options.their_count = static_cast<double>(range.their_candidates());
  options.their_count_is_exact = true;
  options.most_list_entries = range.their_candidates();
  options.most_message_bytes = range.most_message_bytes;
  options.longest_key_bytes = keys.longest_key_bytes;
  options.filters = range.filters;
  options.memory = range.memory;
  options.kept_bytes = VectorBytes(keys.digests);

  const uint64_t mine = keys.candidates.size();
  const uint64_t fewer = std::min(range.their_candidates(), mine);
  const std::optional<CommonKeys> pruned = CommonByPruning(range, keys);
  const double guess = pruned ? pruned->keys : static_cast<double>(fewer) / 2;
  options.common = range.common.value_or(guess);
  options.common_error = pruned ? pruned->standard_error
                                : CommonError(range.counters, options.common,
                                              static_cast<double>(mine), options.their_count);

  options.planner = wanted;
  // With existing SST filters or without, ranges are reconciled as is cheapest.
  if (wanted.strategy == Strategy::kSstFilters) options.planner.strategy = Strategy::kAuto;
  options.planner.keys = {keys.bits_per_key, keys.sparse_bits_per_key,
                          static_cast<double>(keys.sum.count), keys.front_coded_bits_per_key};
  return options;
}

Reconciliation::Reconciliation(Source* source, const KeyInterval& interval, RangeKeys* keys,
                               const MatchingOptions& options, Of of)
    : options_(options),
      of_(of),
      may_be_told_(of == Of::kKeysThenValues && !options.is_client && !options.begins),
      reader_(source, interval, /*whole_rows=*/of != Of::kKeys),
      digests_(std::move(keys->digests)) {
  if (of == Of::kValuesOfSameKeys) {
    values_ = std::make_unique<ValueComparison>(std::move(keys->candidates), std::move(digests_),
                                                options, /*differ=*/true);
  } else {
    matching_ = std::make_unique<Matching>(std::move(keys->candidates), options, &reader_);
  }
}

Reconciliation::State Reconciliation::state() const {
  if (values_ == nullptr) return matching_->state();
  switch (values_->state()) {
    case ValueComparison::State::kMyTurn:
      return State::kMyTurn;
    case ValueComparison::State::kTheirTurn:
      return State::kTheirTurn;
    case ValueComparison::State::kCompared:
      return State::kReconciled;
    case ValueComparison::State::kContradicted:
      break;
  }
  return State::kContradicted;
}

absl::Status Reconciliation::NextStep(std::string* step) {
  if (values_ != nullptr) return values_->NextStep(step);
  const absl::Status status = matching_->NextStep(step);
  if (status.ok()) Advance();
  return status;
}

absl::Status Reconciliation::Receive(std::string_view step) {
  if (values_ != nullptr) return values_->Receive(step);
  const bool told = std::exchange(may_be_told_, false) && !step.empty() &&
                    static_cast<Part>(step.front()) == Part::kCommonKeys;
  if (told) return BeginAsTold(step);
  const absl::Status status = matching_->Receive(step);
  if (status.ok()) Advance();
  return status;
}

//   varint common keys, estimated | varint counters of the estimator
std::string Reconciliation::YieldStep(double common, size_t counters) {
  std::string step, body;
  ByteWriter out(&body);
  out.Varint(static_cast<uint64_t>(common));
  out.Varint(counters);
  AppendPart(Part::kCommonKeys, body, &step);
  return step;
}

absl::Status Reconciliation::BeginAsTold(std::string_view step) {
  ByteReader part(step);
  part.U8();
  ByteReader in(part.String());
  const double mine = static_cast<double>(matching_->matched().size());
  options_.common =
      static_cast<double>(in.Varint(static_cast<uint64_t>(std::min(mine, options_.their_count))));
  const auto counters = static_cast<size_t>(in.Varint(DifferenceEstimator::kMostCounters));
  if (!part.Finished() || !in.Finished()) return Nonsense("a damaged estimate");
  options_.common_error = CommonError(counters, options_.common, mine, options_.their_count);
  options_.begins = true;
  Candidates candidates = matching_->TakeMatched();
  matching_ = std::make_unique<Matching>(std::move(candidates), options_, &reader_);
  return absl::OkStatus();
}

void Reconciliation::Advance() {
  if (matching_->state() != State::kReconciled) return;
  ending_ = matching_->ending();
  if (of_ == Of::kKeys) return;
  counts_ = matching_->counts();
  Candidates matched = matching_->TakeMatched();
  matching_.reset();
  values_ = std::make_unique<ValueComparison>(std::move(matched), std::move(digests_), options_,
                                              /*differ=*/false);
}

MatchedKeys Reconciliation::TakeMatched() {
  if (values_ == nullptr) return {/*all=*/false, matching_->TakeMatched()};
  return {/*all=*/false, values_->TakeEqual(), values_->TakeChanged()};
}

MatchingCounts Reconciliation::counts() const {
  if (values_ == nullptr) return matching_->counts();
  MatchingCounts counts = counts_;
  counts.turns += values_->counts().turns;
  return counts;
}

}  // namespace rocksieve::join
