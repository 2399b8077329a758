// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/server_session.h"

#include <utility>

#include <absl/strings/str_cat.h>

#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kSampledKeys = 1000;

}  // namespace

ServerSession::ServerSession(Source* source, const ServerSessionOptions& options)
    : source_(source),
      options_(options),
      existing_(source, options.existing, options.memory),
      outbox_(options.memory) {}

absl::Status ServerSession::Receive(std::string_view message) {
  MemoryHold decoding(options_.memory);
  RETURN_IF_ERROR(decoding.Resize(message.size(), "a message"));
  ASSIGN_OR_RETURN(Message decoded, Decode(message));
  if (done_) return absl::InvalidArgumentError("the client goes on after its goodbye");
  if (!ranges_ && !std::holds_alternative<Hello>(decoded) &&
      !std::holds_alternative<Failure>(decoded)) {
    return absl::FailedPreconditionError("the client did not say hello");
  }
  return std::visit([this](auto&& alternative) { return On(std::move(alternative)); },
                    std::move(decoded));
}

template <typename Other>
absl::Status ServerSession::On(const Other&) {
  return absl::InvalidArgumentError("the client sent a message that only answers may have");
}

absl::Status ServerSession::On(const Hello& hello) {
  if (ranges_) return absl::InvalidArgumentError("the client said hello twice");
  if (hello.version != kProtocolVersion) {
    return absl::UnimplementedError(absl::StrCat(
        "the client speaks version ", hello.version, " of the join protocol, this side ",
        kProtocolVersion, ": use the same version of rocksieve on both sides"));
  }
  if (hello.comparison != Comparison::kNone && hello.operation != Operation::kSymmetric) {
    return absl::InvalidArgumentError("the client wants a comparison without what differs");
  }
  operation_ = hello.operation;
  options_.planner.strategy = hello.strategy;
  options_.planner.most_round_trips = static_cast<int>(hello.most_round_trips);
  if (hello.bits_per_cpu_ms != 0) {
    options_.planner.weights = WeightsForPrice(1e-6 * static_cast<double>(hello.bits_per_cpu_ms));
  }
  sends_unmatched_ = SendsUnmatched(hello.operation);
  HelloAnswer answer;
  answer.keys = source_->EstimateKeys();
  answer.hash_check = HashCheck(hello.salt);
  answer.most_keys_per_range = options_.most_keys_per_range;
  if (sends_unmatched_ || hello.operation == Operation::kCount) {
    RETURN_IF_ERROR(SumAbsentRows(source_, hello.salt, &answer.absent));
  }
  ExistingFilterOffer own;
  RETURN_IF_ERROR(ChooseFilters(hello, &own, &answer));
  ranges_.emplace(source_, options_,
                  ServerRanges::Agreement{hello.operation, hello.salt, own.pass_rate,
                                          hello.existing.pass_rate, hello.comparison, hello.keys},
                  &existing_, &outbox_);
  ranges_->WhenReady(std::move(ready_));
  return outbox_.Add(Encode(answer));
}

absl::Status ServerSession::ChooseFilters(const Hello& hello, ExistingFilterOffer* own,
                                          HelloAnswer* answer) {
  if (!WantsExistingFilters(hello.strategy) || hello.accepted_filter_bytes == 0) {
    answer->existing_choice = ExistingFilterChoice::kNotWanted;
    return absl::OkStatus();
  }
  *own = existing_.Offer(hello.interval);
  const ExistingFilterSide client{static_cast<double>(hello.keys), hello.existing,
                                  hello.accepted_filter_bytes, hello.readable_formats};
  const ExistingFilterSide server{static_cast<double>(answer->keys), *own,
                                  options_.existing.most_bytes,
                                  options_.existing.readable_formats()};
  PlannerOptions planner = options_.planner;
  if (hello.strategy == Strategy::kAuto && (hello.existing.exists() || own->exists())) {
    // Keys that take few bits each are better shipped.
    RangeKeys sample;
    MemoryHold memory(options_.memory);
    RETURN_IF_ERROR(ScanKeys(source_, hello.interval, /*salt=*/0, kSampledKeys, &sample,
                             /*existing=*/{}, &memory));
    planner.keys = sample.bits;
  }
  answer->existing_choice = ChooseExistingFilters(client, server, planner);
  answer->existing_pass_rate = own->pass_rate;
  answer->accepted_filter_bytes = options_.existing.most_bytes;
  if (answer->existing_choice == ExistingFilterChoice::kServer) {
    existing_.BeginSending(hello.accepted_filter_bytes);
  } else if (answer->existing_choice == ExistingFilterChoice::kClient) {
    existing_.BeginReceiving();
  }
  return absl::OkStatus();
}

absl::Status ServerSession::On(const Fetch& fetch) {
  if (fetch.range != kAbsentRange) return ranges_->Receive(fetch);
  // A client that has seen that they are wrong does not wait for the rest.
  if (!sends_unmatched_ || (absent_ != nullptr && fetch.attempt <= absent_->attempt())) {
    return absl::InvalidArgumentError("the client wants rows that are not to be sent");
  }
  absent_ = std::make_unique<AbsentRowsWriter>(source_, fetch.attempt);
  return absl::OkStatus();
}

absl::Status ServerSession::On(const Goodbye&) {
  done_ = true;
  return absl::OkStatus();
}

absl::Status ServerSession::On(const Failure& failure) {
  done_ = true;
  return absl::Status(failure.status.code(),
                      absl::StrCat("the client says: ", failure.status.message()));
}

uint64_t ServerSession::rows_sent() const {
  return absent_rows_sent_ + (ranges_ ? ranges_->rows_sent() : 0);
}

void ServerSession::WhenReady(std::function<void()> ready) {
  if (ranges_) return ranges_->WhenReady(std::move(ready));
  ready_ = std::move(ready);
}

absl::StatusOr<std::string> ServerSession::Next() {
  RETURN_IF_ERROR(ranges_ ? ranges_->TakeDone() : absl::OkStatus());
  if (!outbox_.empty()) return outbox_.Take();
  Filters filters;
  if (existing_.Next(&filters)) return Encode(filters);
  if (absent_ != nullptr) {
    Rows rows;
    const uint64_t before = absent_->rows_sent();
    const absl::Status status = absent_->Next(&rows);
    absent_rows_sent_ += absent_->rows_sent() - before;
    if (!status.ok()) return status;
    if (rows.last) absent_.reset();
    return Encode(rows);
  }
  if (!ranges_ || !ranges_->has_rows()) return std::string();
  ASSIGN_OR_RETURN(const Rows rows, ranges_->NextRows());
  return Encode(rows);
}

}  // namespace rocksieve::join
