// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/existing_filter_exchange.h"

#include <algorithm>
#include <utility>

namespace rocksieve::join {
namespace {

constexpr size_t kPieceBytes = 128 << 10;
constexpr uint64_t kBytesBetweenRanges = 1 << 20;

}  // namespace

ExistingFilterOffer ExistingFilterExchange::Offer(const KeyInterval& interval) {
  reader_ = source_->ExistingFilters(interval);
  if (reader_ == nullptr) return {};
  const ExistingFilterOffer offer = reader_->Offer();
  // They are kept here as well, to be held against this side's own keys.
  const bool usable =
      offer.bytes <= options_.most_bytes && (offer.formats & ~options_.readable_formats()) == 0;
  return usable ? offer : ExistingFilterOffer();
}

void ExistingFilterExchange::BeginSending(uint64_t most_bytes) {
  role_ = Role::kSender;
  most_bytes_ = std::min(most_bytes, options_.most_bytes);
}

void ExistingFilterExchange::BeginReceiving() {
  role_ = Role::kReceiver;
  assembler_ = std::make_unique<ExistingFilterAssembler>(&set_, options_.most_bytes, &memory_);
}

void ExistingFilterExchange::Withdraw() {
  withdrawn_ = true;
  reader_.reset();
}

bool ExistingFilterExchange::Next(Filters* message) {
  if (role_ != Role::kSender || withdrawn_ || reader_ == nullptr) return false;
  if (!has_unsent()) {
    unsent_.clear();
    sent_ = 0;
  }
  while (sent_ == 0 && unsent_.size() < kPieceBytes && !set_.complete()) {
    ExistingFilter filter;
    if (!reader_->Next(&filter)) {
      set_.Complete();
      break;
    }
    AppendExistingFilter(filter, &unsent_);
    // An estimate was too low, or the source contradicts itself.
    const uint64_t bytes = ExistingFilterSet::BytesOf(filter);
    const bool fits = set_.bytes() + bytes <= most_bytes_ &&
                      memory_.Resize(set_.bytes() + 2 * bytes, "filters of SST files").ok();
    if (!fits || !set_.Add(std::move(filter))) {
      message->state = Filters::State::kWithdrawn;
      Withdraw();
      return true;
    }
  }
  if (reader_->failed()) {
    message->state = Filters::State::kWithdrawn;
    Withdraw();
    return true;
  }
  message->piece = unsent_.substr(sent_, kPieceBytes);
  sent_ += message->piece.size();
  bytes_ += message->piece.size();
  if (set_.complete() && sent_ == unsent_.size()) {
    message->state = Filters::State::kLast;
    reader_.reset();
  }
  return true;
}

bool ExistingFilterExchange::MayOpen(const std::string& begin, std::optional<std::string>* end) {
  if (finished()) return true;
  if (bytes_ < bytes_when_opened_ + kBytesBetweenRanges || set_.covered_end() <= begin) {
    return false;
  }
  bytes_when_opened_ = bytes_;
  if (!*end || **end > set_.covered_end()) *end = std::string(set_.covered_end());
  return true;
}

absl::Status ExistingFilterExchange::Receive(const Filters& message) {
  if (role_ == Role::kReceiver && message.state == Filters::State::kWithdrawn) {
    Withdraw();
    return absl::OkStatus();
  }
  if (role_ != Role::kReceiver || set_.complete()) {
    return absl::InvalidArgumentError("the other side sent filters that it was not asked for");
  }
  if (withdrawn_) return absl::OkStatus();  // they were on their way
  bytes_ += message.piece.size();
  const absl::Status status = assembler_->Add(message.piece);
  if (!status.ok()) return status;
  if (message.state != Filters::State::kLast) return status;
  if (!assembler_->AtBoundary()) {
    return absl::InvalidArgumentError("the other side's last filter is cut");
  }
  set_.Complete();
  return status;
}

}  // namespace rocksieve::join
