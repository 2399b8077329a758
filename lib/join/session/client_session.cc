// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/client_session.h"

#include <cmath>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

ClientSession::ClientSession(Source* source, Sink* sink, const ClientSessionOptions& options)
    : context_(source, sink, options),
      reconciler_(&context_),
      opener_(&context_, &reconciler_),
      delivery_(&context_),
      absent_(&context_),
      begun_(SayHello()) {}

absl::Status ClientSession::SayHello() {
  const ClientSessionOptions& options = context_.options;
  Hello hello;
  hello.operation = options.operation;
  hello.salt = options.salt;
  hello.keys = context_.source->EstimateKeys();
  hello.strategy = options.planner.strategy;
  hello.most_round_trips = static_cast<uint32_t>(options.planner.most_round_trips);
  hello.comparison = options.comparison;
  if (options.planner.weights.bits_per_cpu_ns > CostWeights().bits_per_cpu_ns) {
    hello.bits_per_cpu_ms =
        static_cast<uint64_t>(std::ceil(1e6 * options.planner.weights.bits_per_cpu_ns));
  }
  // Sessions that share a scan all need the same of it.
  if (WantsExistingFilters(options.planner.strategy) && options.shared == nullptr) {
    hello.interval = options.interval;
    hello.existing = context_.offer = context_.existing.Offer(options.interval);
    hello.accepted_filter_bytes = options.existing.most_bytes;
    hello.readable_formats = options.existing.readable_formats();
  }
  return context_.Send(hello);
}

absl::Status ClientSession::Receive(std::string_view message) {
  MemoryHold decoding(context_.options.memory);
  const absl::Status room = decoding.Resize(message.size(), "a message");
  if (!room.ok()) return room;
  absl::StatusOr<Message> decoded = Decode(message);
  if (!decoded.ok()) return decoded.status();
  const auto take = [this](auto&& alternative) { return On(std::move(alternative)); };
  const ClientRange* const range = context_.Heard(*decoded, message.size());
  if (range == nullptr) return std::visit(take, *std::move(decoded));
  const KeyInterval interval = range->interval;  // the range may be done after this
  const absl::Status computed = reconciler_.WaitFor(range->number);
  if (!computed.ok()) return Naming(interval, computed);
  return Naming(interval, std::visit(take, *std::move(decoded)));
}

template <typename Other>
absl::Status ClientSession::On(const Other&) {
  return absl::InvalidArgumentError("the server sent a message that only clients may send");
}

absl::Status ClientSession::On(const HelloAnswer& answer) {
  if (answered_) return absl::InvalidArgumentError("the server answered hello twice");
  if (answer.version != kProtocolVersion) {
    return absl::UnimplementedError(absl::StrCat(
        "the server speaks version ", answer.version, " of the join protocol, this side ",
        kProtocolVersion, ": use the same version of rocksieve on both sides"));
  }
  if (answer.hash_check != HashCheck(context_.options.salt)) {
    return absl::InvalidArgumentError(
        "the server computes other hashes than this side: use the same version of "
        "rocksieve on both sides");
  }
  if (context_.options.keys_are_unique && answer.absent.count > 0) {
    return absl::InvalidArgumentError(
        "the server has rows without a key, where whole keys are joined on");
  }
  answered_ = true;
  context_.answer = answer;
  context_.statistics.existing_choice = answer.existing_choice;
  if (answer.existing_choice == ExistingFilterChoice::kServer) context_.existing.BeginReceiving();
  if (answer.existing_choice == ExistingFilterChoice::kClient) {
    if (!context_.offer.exists()) {
      return absl::InvalidArgumentError("the server wants filters that were not offered");
    }
    context_.existing.BeginSending(answer.accepted_filter_bytes);
  }
  opener_.Begin();
  return absl::OkStatus();
}

absl::Status ClientSession::On(const Rows& rows) {
  if (!rows.last && RowBatchReader::IsEmpty(rows.batch)) {
    return absl::InvalidArgumentError("the server sent rows that are none, and not the last");
  }
  return rows.range == kAbsentRange ? absent_.Receive(rows) : delivery_.Receive(rows);
}

absl::Status ClientSession::On(const Failure& failure) {
  done_ = other_side_failed_ = true;
  return absl::Status(failure.status.code(),
                      absl::StrCat("the other side failed: ", failure.status.message()));
}

absl::StatusOr<std::string> ClientSession::Next() {
  if (!begun_.ok()) return begun_;
  const absl::Status computed = reconciler_.TakeDone();
  if (!computed.ok()) return computed;
  if (context_.outbox.empty() && answered_ && !done_) {
    const absl::Status status = Advance();
    if (!status.ok()) return status;
  }
  return context_.outbox.empty() ? std::string() : context_.outbox.Take();
}

absl::Status ClientSession::Advance() {
  const Outbox& outbox = context_.outbox;
  ExistingFilterExchange& existing = context_.existing;
  absl::Status status = delivery_.Advance();
  Filters filters;
  if (status.ok() && outbox.empty() && existing.has_unsent() && existing.Next(&filters)) {
    status = context_.Send(filters);
  }
  if (status.ok() && outbox.empty()) status = opener_.OpenNext();
  if (!status.ok()) return status;
  if (outbox.empty() && !existing.finished() && existing.Next(&filters))
    status = context_.Send(filters);
  context_.statistics.sst_filters = existing.filters();
  context_.statistics.sst_filter_bytes = existing.bytes();
  const bool ranges_are_left = !context_.ranges.empty() || context_.ranges.rest();
  if (!status.ok() || !outbox.empty() || ranges_are_left) return status;
  const absl::StatusOr<bool> finished = absent_.Advance();
  if (!finished.ok() || !*finished) return finished.status();
  done_ = true;
  return context_.Send(Goodbye());
}

std::optional<KeyInterval> ClientSession::Uncommitted() const {
  std::optional<KeyInterval> unfinished = context_.ranges.Unfinished();
  if (!unfinished && !done_) return KeyInterval{"", ""};
  return unfinished;
}

}  // namespace rocksieve::join
