#include "lib/join/session/answering_side.h"

#include <algorithm>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/common_estimate.h"
#include "lib/join/rows/interval_text.h"

namespace rocksieve::join {
namespace {

using TooLarge = AnsweringRange::TooLarge;
using Reconciling = AnsweringRange::Reconciling;
using Settled = AnsweringRange::Settled;

constexpr uint64_t kSampledKeys = 1000;

uint64_t BytesOf(const KeyInterval& interval) {
  return interval.begin.size() + (interval.end ? interval.end->size() : 0);
}

// Counts that no honest side has: what follows from them would be taken for the range's.
absl::Status CheckCounts(const Open& open) {
  if (open.interval.end && *open.interval.end < open.interval.begin) {
    return absl::InvalidArgumentError("the asking side opened a range that ends before it begins");
  }
  if (open.sum.count > kMostKeysOfARange) {
    return absl::InvalidArgumentError(absl::StrCat("the asking side says that it has ",
                                                   open.sum.count, " keys in a range, where ",
                                                   kMostKeysOfARange, " are allowed"));
  }
  if (open.pruning.filters && open.pruning.candidates > open.sum.count) {
    return absl::InvalidArgumentError(absl::StrCat("the asking side says that filters left ",
                                                   open.pruning.candidates, " of its ",
                                                   open.sum.count, " keys in a range"));
  }
  return absl::OkStatus();
}

}  // namespace

AnsweringSide::AnsweringSide(Source* source, const AnsweringOptions& options)
    : source_(source),
      options_(options),
      ready_(source, options.ready, options.memory),
      outbox_(options.memory) {}

AnsweringSide::~AnsweringSide() = default;

absl::Status AnsweringSide::Receive(std::string_view message) {
  MemoryHold decoding(options_.memory);
  const absl::Status room = decoding.Resize(message.size(), "a message");
  if (!room.ok()) return room;
  absl::StatusOr<Message> decoded = Decode(message);
  if (!decoded.ok()) return decoded.status();
  if (done_) return absl::InvalidArgumentError("the asking side goes on after its goodbye");
  if (!hello_ && !std::holds_alternative<Hello>(*decoded) &&
      !std::holds_alternative<Failure>(*decoded)) {
    return absl::FailedPreconditionError("the asking side did not say hello");
  }
  return std::visit([this](const auto& alternative) { return On(alternative); }, *decoded);
}

template <typename Other>
absl::Status AnsweringSide::On(const Other&) {
  return absl::InvalidArgumentError("the asking side sent a message that only answers may have");
}

absl::Status AnsweringSide::On(const Hello& hello) {
  if (hello_) return absl::InvalidArgumentError("the asking side said hello twice");
  if (hello.version != kProtocolVersion) {
    return absl::UnimplementedError(absl::StrCat(
        "the asking side speaks version ", hello.version, " of the join protocol, this side ",
        kProtocolVersion, ": use the same version of rocksieve on both sides"));
  }
  hello_ = hello;
  hello_->interval = {};  // is of use only here, and may be large
  options_.planner.strategy = hello.strategy;
  options_.planner.most_round_trips = static_cast<int>(hello.most_round_trips);
  HelloAnswer answer;
  answer.keys = source_->EstimateKeys();
  answer.hash_check = HashCheck(hello.salt);
  answer.most_keys_per_range = options_.most_keys_per_range;
  if (SendsUnmatched(hello.operation) || hello.operation == Operation::kCount) {
    const absl::Status status = SumAbsentRows(source_, hello.salt, &answer.absent);
    if (!status.ok()) return status;
  }
  const absl::Status status = ChooseReady(hello, &answer);
  if (!status.ok()) return status;
  return outbox_.Add(Encode(answer));
}

absl::Status AnsweringSide::ChooseReady(const Hello& hello, HelloAnswer* answer) {
  PlannerOptions planner = options_.planner;
  ReadySide asking{static_cast<double>(hello.keys), hello.ready, hello.accepted_ready_bytes,
                   hello.readable_formats};
  ReadySide answering{static_cast<double>(answer->keys),
                      {},
                      options_.ready.most_bytes,
                      options_.ready.readable_formats()};
  // With them or without, ranges are settled as is cheapest.
  if (hello.strategy == Strategy::kSstFilters) options_.planner.strategy = Strategy::kAuto;
  if (!WantsReadyFilters(hello.strategy) || hello.accepted_ready_bytes == 0) {
    answer->ready_choice = ReadyChoice::kNotWanted;
    return absl::OkStatus();
  }
  answering.offer = offer_ = ready_.Offer(hello.interval);
  if (hello.strategy == Strategy::kAuto && (asking.offer.exists() || answering.offer.exists())) {
    // Keys that take few bits each are better shipped.
    RangeKeys sample;
    MemoryHold memory(options_.memory);
    const absl::Status status =
        ScanKeys(source_, hello.interval, /*salt=*/0, kSampledKeys, &sample, /*ready=*/{}, &memory);
    if (!status.ok()) return status;
    planner.keys = {sample.bits_per_key, sample.sparse_bits_per_key,
                    static_cast<double>(sample.sum.count)};
  }
  answer->ready_choice = ChooseReadyFilters(asking, answering, planner);
  answer->ready_pass_rate = offer_.pass_rate;
  answer->accepted_ready_bytes = options_.ready.most_bytes;
  if (answer->ready_choice == ReadyChoice::kAnswering) {
    ready_.BeginSending(hello.accepted_ready_bytes);
  } else if (answer->ready_choice == ReadyChoice::kAsking) {
    ready_.BeginReceiving();
  }
  return absl::OkStatus();
}

ReadyUse AnsweringSide::ReadyUseFor(const Open& open) const {
  if (open.attempt > 0 || !ready_.usable()) return {};
  if (ready_.role() == ReadyExchange::Role::kReceiver) {
    return ready_.set()->Covers(open.interval.end) ? ReadyUse{ready_.set(), true} : ReadyUse{};
  }
  return open.pruning.filters ? ReadyUse{ready_.set(), false} : ReadyUse{};
}

bool AnsweringSide::SendsRows() const {
  return SendsMatched(hello_->operation) || SendsUnmatched(hello_->operation);
}

const char* AnsweringSide::StateOf(uint64_t range) const {
  const auto open = ranges_.find(range);
  if (open != ranges_.end()) return open->second.StateName();
  const bool sending =
      std::any_of(streams_.begin(), streams_.end(),
                  [range](const RowStream& rows) { return rows.range() == range; });
  return sending ? "being sent" : "not open";
}

absl::Status AnsweringSide::CheckOpen(const Open& open) const {
  const auto found = ranges_.find(open.range);
  bool may_be_opened = true;
  if (found != ranges_.end()) {
    const AnsweringRange& range = found->second;
    const bool too_large = std::holds_alternative<TooLarge>(range.state);
    may_be_opened = open.attempt > range.attempt || (too_large && open.attempt == range.attempt);
  }
  for (const RowStream& rows : streams_) {
    if (rows.range() == open.range) may_be_opened &= open.attempt > rows.attempt();
  }
  if (!may_be_opened) {
    return absl::InvalidArgumentError(absl::StrCat("the asking side opened range ", open.range,
                                                   " in attempt ", open.attempt, ", which is ",
                                                   StateOf(open.range), " already"));
  }
  const size_t others = ranges_.size() - (found != ranges_.end() ? 1 : 0) + streams_.size();
  if (others >= options_.most_ranges) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the asking side opened more than ", options_.most_ranges, " ranges at once"));
  }
  return CheckCounts(open);
}

absl::Status AnsweringSide::ScanFor(const Open& open, const ReadyUse& ready, RangeKeys* keys,
                                    MemoryHold* memory) {
  const auto found = ranges_.find(open.range);
  if (found != ranges_.end()) {
    // A range that was too large comes again with the end that it was told: its keys are here.
    AnsweringRange& range = found->second;
    auto* const kept = std::get_if<TooLarge>(&range.state);
    if (kept != nullptr && range.attempt == open.attempt &&
        kept->used_ready == (ready.set != nullptr) && range.interval.begin == open.interval.begin &&
        kept->keys.next_key == open.interval.end) {
      *keys = std::move(kept->keys);
      *memory = std::move(range.memory);
      keys->next_key.reset();
    }
    const bool is_kept = !keys->candidates.empty() || keys->sum.count > 0;
    ranges_.erase(found);
    if (is_kept) return absl::OkStatus();
  }
  const absl::Status status =
      ScanKeys(source_, open.interval, RangeSalt(hello_->salt, open.range, open.attempt),
               options_.most_keys_per_range, keys, ready, memory);
  return Naming(open.interval, status);
}

absl::Status AnsweringSide::On(const Open& open) {
  absl::Status status = CheckOpen(open);
  if (!status.ok()) return status;
  const ReadyUse ready = ReadyUseFor(open);
  RangeKeys keys;
  AnsweringRange range(open.interval, open.attempt, options_.memory);
  status = ScanFor(open, ready, &keys, &range.memory);
  // The reader's and the stream's copies of the interval are in it as well.
  if (status.ok()) status = range.memory.Grow(4 * BytesOf(open.interval), "fences of a range");
  if (!status.ok()) return status;

  Facts facts;
  facts.range = open.range;
  facts.attempt = open.attempt;
  facts.sum = keys.sum;
  // The asking side dropped keys by filters that it must not rely on.
  if (open.pruning.filters &&
      (ready.set == nullptr || keys.uncovered ||
       !ready_.set()->IsCoveredBy(*open.pruning.filters, open.pruning.digest, open.interval.end))) {
    ready_.Withdraw();
    facts.outcome = Facts::Outcome::kWithdrawn;
    return outbox_.Add(Encode(facts));
  }
  if (ready.prunes) {
    facts.pruning.filters = ready.set->size();
    facts.pruning.digest = ready.set->DigestOf(ready.set->size());
    facts.pruning.candidates = keys.candidates.size();
  }
  if (keys.next_key) {
    facts.outcome = Facts::Outcome::kTooLarge;
    facts.next_key = *keys.next_key;
    range.state = TooLarge{std::move(keys), ready.set != nullptr};
  } else if (keys.sum == open.sum) {
    facts.outcome = Facts::Outcome::kEqual;
    range.memory.Shrink(keys.candidates.capacity() * sizeof(Candidate));
    range.state = Settled{/*equal=*/true, {}};
    if (!SendsRows()) return outbox_.Add(Encode(facts));
  } else {
    status = BeginReconciling(open, ready.prunes, std::move(keys), &range, &facts);
    if (!status.ok()) return status;
  }
  const bool reconciles = std::holds_alternative<Reconciling>(range.state);
  ranges_.insert_or_assign(open.range, std::move(range));
  status = outbox_.Add(Encode(facts));
  return status.ok() && reconciles ? Continue(open.range) : status;
}

Matching::Options AnsweringSide::OptionsFor(const Open& open, const RangeKeys& keys,
                                            bool prunes) const {
  Matching::Options options;
  options.salt = RangeSalt(hello_->salt, open.range, open.attempt);
  options.attempt = open.attempt;
  options.begins = open.answering_side_begins;
  const uint64_t theirs = open.pruning.filters ? open.pruning.candidates : open.sum.count;
  options.their_count = static_cast<double>(theirs);
  options.their_count_is_exact = true;
  options.most_list_entries = theirs;
  options.most_message_bytes = options_.most_message_bytes;
  options.longest_key_bytes = keys.longest_key_bytes;
  options.memory = options_.memory;
  const auto mine = static_cast<double>(keys.candidates.size());
  options.common = static_cast<double>(std::min<uint64_t>(theirs, keys.candidates.size())) / 2;
  options.common_error = CommonError(/*counters=*/0, options.common, options.their_count, mine);
  std::optional<CommonKeys> common;
  if (open.pruning.filters) {
    common = CommonAfterReadyFilters(static_cast<double>(open.sum.count),
                                     static_cast<double>(theirs), offer_.pass_rate);
  } else if (prunes) {
    common =
        CommonAfterReadyFilters(static_cast<double>(keys.sum.count), mine, hello_->ready.pass_rate);
  }
  if (common) {
    options.common = common->keys;
    options.common_error = common->standard_error;
  }
  options.planner = options_.planner;
  options.planner.keys = {keys.bits_per_key, keys.sparse_bits_per_key,
                          static_cast<double>(keys.sum.count)};
  return options;
}

absl::Status AnsweringSide::BeginReconciling(const Open& open, bool prunes, RangeKeys keys,
                                             AnsweringRange* range, Facts* facts) {
  Matching::Options options = OptionsFor(open, keys, prunes);
  if (!open.estimator.empty()) {
    const absl::Status status =
        EstimateCommon(open.estimator, static_cast<uint64_t>(options.their_count), keys.candidates,
                       options.salt, &options.common);
    if (!status.ok()) return status;
    if (!open.pruning.filters && !prunes) {
      options.common_error =
          CommonError(CountersIn(open.estimator), options.common, options.their_count,
                      static_cast<double>(keys.candidates.size()));
    }
  }
  facts->common = static_cast<uint64_t>(options.common);
  // The Matching holds them from now on.
  range->memory.Shrink(keys.candidates.capacity() * sizeof(Candidate));
  Reconciling reconciling;
  reconciling.reader = std::make_unique<SourceKeyReader>(source_, range->interval);
  reconciling.matching =
      std::make_unique<Matching>(std::move(keys.candidates), options, reconciling.reader.get());
  range->state = std::move(reconciling);
  return absl::OkStatus();
}

absl::Status AnsweringSide::On(const Turn& turn) {
  const auto found = ranges_.find(turn.range);
  auto* const reconciling =
      found == ranges_.end() ? nullptr : std::get_if<Reconciling>(&found->second.state);
  if (reconciling == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the asking side spoke of range ", turn.range,
                                                   ", which is ", StateOf(turn.range),
                                                   ", out of turn"));
  }
  const KeyInterval interval = found->second.interval;  // the range may be gone after this
  const absl::Status status = reconciling->matching->Receive(turn.message);
  return Naming(interval, status.ok() ? Continue(turn.range) : status);
}

absl::Status AnsweringSide::Continue(uint64_t number) {
  AnsweringRange& range = ranges_.at(number);
  Matching* const matching = std::get<Reconciling>(range.state).matching.get();
  if (matching->state() == Matching::State::kMyTurn) {
    Turn turn;
    turn.range = number;
    absl::Status status = matching->TakeTurn(&turn.message);
    if (status.ok()) status = outbox_.Add(Encode(turn));
    if (!status.ok()) return status;
  }
  if (matching->state() != Matching::State::kSettled) return absl::OkStatus();
  if (!SendsRows()) {
    ranges_.erase(number);
    return absl::OkStatus();
  }
  Settled settled{/*equal=*/false, matching->TakeMatched()};
  const uint64_t bytes = settled.matched.capacity() * sizeof(Candidate);
  range.state = std::move(settled);  // with all that the Matching held
  return range.memory.Grow(bytes, "matched keys");
}

absl::Status AnsweringSide::On(const Fetch& fetch) {
  if (fetch.range == kAbsentRange) {
    if (absent_ != nullptr || !SendsUnmatched(hello_->operation)) {
      return absl::InvalidArgumentError("the asking side wants rows that are not to be sent");
    }
    absent_ = std::make_unique<AbsentRowsWriter>(source_, fetch.attempt);
    return absl::OkStatus();
  }
  const auto found = ranges_.find(fetch.range);
  if (found == ranges_.end() || !std::holds_alternative<Settled>(found->second.state) ||
      fetch.attempt != found->second.attempt) {
    return absl::InvalidArgumentError(absl::StrCat("the asking side wants the rows of range ",
                                                   fetch.range, ", attempt ", fetch.attempt,
                                                   ", which is ", StateOf(fetch.range)));
  }
  streams_.emplace_back(source_, fetch.range, std::move(found->second),
                        SendsMatched(hello_->operation));
  ranges_.erase(found);
  return absl::OkStatus();
}

absl::Status AnsweringSide::On(const Goodbye&) {
  done_ = true;
  return absl::OkStatus();
}

absl::Status AnsweringSide::On(const Failure& failure) {
  done_ = true;
  return absl::Status(failure.status.code(),
                      absl::StrCat("the asking side says: ", failure.status.message()));
}

absl::StatusOr<std::string> AnsweringSide::Next() {
  if (!outbox_.empty()) return outbox_.Take();
  Filters filters;
  if (ready_.Next(&filters)) return Encode(filters);
  return NextRows();
}

absl::StatusOr<std::string> AnsweringSide::NextRows() {
  if (absent_ != nullptr) {
    Rows rows;
    const absl::Status status = absent_->Next(&rows);
    if (!status.ok()) return status;
    if (rows.last) absent_.reset();
    return Encode(rows);
  }
  if (streams_.empty()) return std::string();
  const absl::StatusOr<Rows> rows = streams_.front().Next();
  if (!rows.ok()) return rows.status();
  if (rows->last) streams_.pop_front();
  return Encode(*rows);
}

}  // namespace rocksieve::join
