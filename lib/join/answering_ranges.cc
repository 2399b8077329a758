// How the answering side opens ranges, and settles them with the asking side.
#include <algorithm>
#include <utility>

#include <absl/strings/str_cat.h>

#include "join/answering_range.h"
#include "join/matching/common_estimate.h"
#include "join/rows/interval_text.h"

namespace rocksieve::join {

ReadyUse AnsweringSide::ReadyUseFor(const Open& open) const {
  if (open.attempt > 0 || !ready_.usable()) return {};
  if (ready_.role() == ReadyExchange::Role::kReceiver) {
    return ready_.set()->Covers(open.interval.end) ? ReadyUse{ready_.set(), true} : ReadyUse{};
  }
  return open.pruning.filters ? ReadyUse{ready_.set(), false} : ReadyUse{};
}

absl::Status AnsweringSide::On(const Open& open) {
  std::unique_ptr<OpenRange>& slot = ranges_[open.range];
  if (slot == nullptr && ranges_.size() > options_.most_ranges) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the asking side opened more than ", options_.most_ranges, " ranges at once"));
  }
  if (open.interval.end && *open.interval.end < open.interval.begin) {
    return absl::InvalidArgumentError("the asking side opened a range that ends before it begins");
  }
  if (open.sum.count > kMostKeysOfARange) {
    return absl::InvalidArgumentError(absl::StrCat("the asking side says that it has ",
                                                   open.sum.count, " keys in a range, where ",
                                                   kMostKeysOfARange, " are allowed"));
  }
  const uint64_t salt = RangeSalt(hello_->salt, open.range, open.attempt);
  const ReadyUse ready = ReadyUseFor(open);
  // The asking side dropped keys by filters that it must not rely on.
  bool withdrawn = open.pruning.filters && ready.set == nullptr;
  // A range that was too large comes again with the end that it was told: its keys are here.
  RangeKeys keys;
  const bool used_ready = ready.set != nullptr;
  if (slot != nullptr && slot->attempt == open.attempt && slot->keys.next_key &&
      slot->used_ready == used_ready && slot->interval.begin == open.interval.begin &&
      slot->keys.next_key == open.interval.end) {
    keys = std::move(slot->keys);
    keys.next_key.reset();
  } else {
    slot.reset();
    const absl::Status status =
        ScanKeys(source_, open.interval, salt, options_.most_keys_per_range, &keys, ready);
    if (!status.ok()) return Naming(open.interval, status);
  }
  if (open.pruning.filters && !withdrawn) {
    withdrawn =
        keys.uncovered ||
        !ready_.set()->IsCoveredBy(*open.pruning.filters, open.pruning.digest, open.interval.end);
  }
  slot = std::make_unique<OpenRange>(source_, open.interval);
  slot->attempt = open.attempt;
  slot->used_ready = used_ready;

  Facts facts;
  facts.range = open.range;
  facts.attempt = open.attempt;
  facts.sum = keys.sum;
  if (withdrawn) {
    ready_.Withdraw();
    facts.outcome = Facts::Outcome::kWithdrawn;
    messages_.push_back(Encode(facts));
    ranges_.erase(open.range);
    return absl::OkStatus();
  }
  if (ready.prunes) {
    facts.pruning.filters = ready.set->size();
    facts.pruning.digest = ready.set->DigestOf(ready.set->size());
    facts.pruning.candidates = keys.candidates.size();
  }
  if (keys.next_key) {
    facts.outcome = Facts::Outcome::kTooLarge;
    facts.next_key = *keys.next_key;
    slot->keys = std::move(keys);
    messages_.push_back(Encode(facts));
    return absl::OkStatus();
  }
  if (keys.sum == open.sum) {
    facts.outcome = Facts::Outcome::kEqual;
    slot->equal = true;
    messages_.push_back(Encode(facts));
    if (!SendsMatched(hello_->operation) && !SendsUnmatched(hello_->operation)) {
      ranges_.erase(open.range);
    }
    return absl::OkStatus();
  }

  Matching::Options options;
  options.salt = salt;
  options.attempt = open.attempt;
  options.begins = open.answering_side_begins;
  const uint64_t theirs = open.pruning.filters ? open.pruning.candidates : open.sum.count;
  options.their_count = static_cast<double>(theirs);
  options.their_count_is_exact = true;
  options.most_list_entries = theirs;
  options.most_message_bytes = options_.most_message_bytes;
  options.longest_key_bytes = keys.longest_key_bytes;
  options.common = static_cast<double>(std::min<uint64_t>(theirs, keys.candidates.size())) / 2;
  std::optional<CommonKeys> common;
  if (open.pruning.filters) {
    common = CommonAfterReadyFilters(static_cast<double>(open.sum.count),
                                     static_cast<double>(theirs), offer_.pass_rate);
  } else if (ready.prunes) {
    common = CommonAfterReadyFilters(static_cast<double>(keys.sum.count),
                                     static_cast<double>(keys.candidates.size()),
                                     hello_->ready.pass_rate);
  }
  if (common) options.common = common->keys;
  size_t counters = 0;
  if (!open.estimator.empty()) {
    const absl::Status status =
        EstimateCommon(open.estimator, theirs, keys.candidates, salt, &options.common);
    if (!status.ok()) return status;
    counters = CountersIn(open.estimator);
  }
  options.common_error = CommonError(counters, options.common, options.their_count,
                                     static_cast<double>(keys.candidates.size()));
  if (common) options.common_error = common->standard_error;
  facts.common = static_cast<uint64_t>(options.common);
  options.planner = options_.planner;
  options.planner.keys = {keys.bits_per_key, keys.sparse_bits_per_key,
                          static_cast<double>(keys.sum.count)};
  slot->matching = std::make_unique<Matching>(std::move(keys.candidates), options, &slot->reader);
  messages_.push_back(Encode(facts));
  return Continue(open.range, slot.get());
}

absl::Status AnsweringSide::On(const Turn& turn) {
  absl::StatusOr<OpenRange*> open = Find(turn.range);
  if (!open.ok()) return open.status();
  Matching* matching = (*open)->matching.get();
  if (matching == nullptr || matching->state() != Matching::State::kTheirTurn) {
    return absl::InvalidArgumentError("the asking side spoke out of turn");
  }
  const KeyInterval interval = (*open)->interval;  // the range may be gone after this
  const absl::Status status = matching->Receive(turn.message);
  return Naming(interval, status.ok() ? Continue(turn.range, *open) : status);
}

absl::Status AnsweringSide::Continue(uint64_t range, OpenRange* open) {
  Matching* matching = open->matching.get();
  if (matching->state() == Matching::State::kMyTurn) {
    Turn turn;
    turn.range = range;
    const absl::Status status = matching->TakeTurn(&turn.message);
    if (!status.ok()) return status;
    messages_.push_back(Encode(turn));
  }
  const bool rows = SendsMatched(hello_->operation) || SendsUnmatched(hello_->operation);
  const Matching::State state = matching->state();
  if (state == Matching::State::kContradicted || (state == Matching::State::kSettled && !rows)) {
    ranges_.erase(range);
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
