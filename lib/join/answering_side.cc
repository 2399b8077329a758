#include "join/answering_side.h"

#include <algorithm>
#include <utility>

#include <absl/strings/str_cat.h>

#include "join/common_estimate.h"
#include "join/interval_text.h"
#include "join/key_reader.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kSampledKeys = 1000;

}  // namespace

struct AnsweringSide::OpenRange {
  OpenRange(Source* source, KeyInterval range)
      : interval(range), reader(source, std::move(range)) {}

  const KeyInterval interval;
  uint32_t attempt = 0;
  bool used_ready = false;  // filters, in the scan
  RangeKeys keys;           // its candidates are given away once the range is open
  SourceKeyReader reader;
  std::unique_ptr<Matching> matching;
  bool equal = false;  // every key is matched
};

// The rows of a settled range, from the source.
struct AnsweringSide::RowStream {
  RowStream(Source* source, uint64_t id, std::unique_ptr<OpenRange> settled, bool want_matched)
      : range(id),
        open(std::move(settled)),
        matched(want_matched),
        cursor(source, open->interval),
        batch(/*with_keys=*/!want_matched) {}

  bool Wants(uint32_t ordinal) {
    if (open->equal) return matched;
    const Candidates& keys = open->matching->matched();
    while (next < keys.size() && keys[next].ordinal < ordinal) next++;
    return (next < keys.size() && keys[next].ordinal == ordinal) == matched;
  }

  const uint64_t range;
  const std::unique_ptr<OpenRange> open;
  const bool matched;
  OrdinalCursor cursor;
  RowBatchWriter batch;
  size_t next = 0;     // matched key that was not passed yet
  bool ended = false;  // the cursor
};

AnsweringSide::AnsweringSide(Source* source, const AnsweringOptions& options)
    : source_(source), options_(options), ready_(source, options.ready) {}

AnsweringSide::~AnsweringSide() = default;

absl::Status AnsweringSide::Receive(std::string_view message) {
  absl::StatusOr<Message> decoded = Decode(message);
  if (!decoded.ok()) return decoded.status();
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
  messages_.push_back(Encode(answer));
  return absl::OkStatus();
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
  if (hello.strategy == Strategy::kAuto &&
      (asking.offer.exists() || answering.offer.exists())) {
    // Keys that take few bits each are better shipped.
    RangeKeys sample;
    const absl::Status status =
        ScanKeys(source_, hello.interval, /*salt=*/0, kSampledKeys, &sample);
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
    return absl::InvalidArgumentError(
        absl::StrCat("the asking side says that it has ", open.sum.count, " keys in a range, where ",
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
  options.begins = open.answering_side_begins;
  const uint64_t theirs = open.pruning.filters ? open.pruning.candidates : open.sum.count;
  options.their_count = static_cast<double>(theirs);
  options.their_count_is_exact = true;
  options.most_list_entries = theirs;
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

absl::Status AnsweringSide::On(const Fetch& fetch) {
  if (fetch.range == kAbsentRange) {
    if (absent_ != nullptr || !SendsUnmatched(hello_->operation)) {
      return absl::InvalidArgumentError("the asking side wants rows that are not to be sent");
    }
    absent_ = std::make_unique<AbsentRowsWriter>(source_, fetch.attempt);
    return absl::OkStatus();
  }
  absl::StatusOr<OpenRange*> open = Find(fetch.range);
  if (!open.ok()) return open.status();
  const bool settled = (*open)->equal || ((*open)->matching != nullptr &&
                                          (*open)->matching->state() == Matching::State::kSettled);
  if (!settled || fetch.attempt != (*open)->attempt) {
    return absl::InvalidArgumentError("the asking side wants rows of an open range");
  }
  if (std::find(fetched_.begin(), fetched_.end(), fetch.range) != fetched_.end()) {
    return absl::InvalidArgumentError("the asking side wants the rows of a range twice");
  }
  fetched_.push_back(fetch.range);
  return absl::OkStatus();
}

absl::Status AnsweringSide::On(const Goodbye&) {
  done_ = true;
  return absl::OkStatus();
}

absl::Status AnsweringSide::On(const Failure& failure) {
  done_ = true;
  return failure.status;
}

absl::StatusOr<AnsweringSide::OpenRange*> AnsweringSide::Find(uint64_t range) {
  const auto found = ranges_.find(range);
  if (found == ranges_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the asking side speaks of range ", range, ", which is not open"));
  }
  return found->second.get();
}

absl::StatusOr<std::string> AnsweringSide::Next() {
  if (!messages_.empty()) {
    std::string message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  Filters filters;
  if (ready_.Next(&filters)) return Encode(filters);
  if (absent_ != nullptr) return NextAbsentRows();
  if (stream_ == nullptr && !fetched_.empty()) {
    const auto range = ranges_.find(fetched_.front());
    stream_ = std::make_unique<RowStream>(source_, range->first, std::move(range->second),
                                          SendsMatched(hello_->operation));
    ranges_.erase(range);
    fetched_.pop_front();
  }
  return stream_ == nullptr ? std::string() : NextRows();
}

absl::StatusOr<std::string> AnsweringSide::NextAbsentRows() {
  Rows rows;
  const absl::Status status = absent_->Next(&rows);
  if (!status.ok()) return status;
  if (rows.last) absent_.reset();
  return Encode(rows);
}

absl::StatusOr<std::string> AnsweringSide::NextRows() {
  Rows rows;
  rows.range = stream_->range;
  rows.attempt = stream_->open->attempt;
  Row row;
  while (stream_->batch.pending_bytes() < kRowBatchBytes && !stream_->ended) {
    stream_->ended = !stream_->cursor.Next(&row);
    if (!stream_->ended && stream_->Wants(stream_->cursor.ordinal())) stream_->batch.Add(row);
  }
  if (!stream_->cursor.status().ok()) {
    return Naming(stream_->open->interval, stream_->cursor.status());
  }
  stream_->batch.TakeBatch(&rows.batch);
  rows.last = stream_->ended && stream_->batch.pending_bytes() == 0;
  if (rows.last) stream_.reset();
  return Encode(rows);
}

}  // namespace rocksieve::join
