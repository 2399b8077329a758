#include "join/answering_side.h"

#include <utility>

#include <absl/strings/str_cat.h>

#include "join/answering_range.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kSampledKeys = 1000;

}  // namespace

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
  if (hello.strategy == Strategy::kAuto && (asking.offer.exists() || answering.offer.exists())) {
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

absl::Status AnsweringSide::On(const Goodbye&) {
  done_ = true;
  return absl::OkStatus();
}

absl::Status AnsweringSide::On(const Failure& failure) {
  done_ = true;
  return absl::Status(failure.status.code(),
                      absl::StrCat("the asking side says: ", failure.status.message()));
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

}  // namespace rocksieve::join
