// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/client_session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/operation.h"
#include "lib/join/rows/source.h"
#include "support/return_if_error.h"

namespace rocksieve::join {

ClientSession::ClientSession(Source* source, Sink* sink, const ClientSessionOptions& options)
    : context_(source, sink, options),
      reconciler_(&context_),
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
  RETURN_IF_ERROR(decoding.Resize(message.size(), "a message"));
  ASSIGN_OR_RETURN(Message decoded, Decode(message));
  const auto take = [this](auto&& alternative) { return On(std::move(alternative)); };
  const ClientRange* const range = context_.Heard(decoded, message.size());
  if (range == nullptr) return std::visit(take, std::move(decoded));
  const KeyInterval interval = range->interval;  // the range may be done after this
  const absl::Status computed = reconciler_.WaitFor(range->number);
  if (!computed.ok()) return Naming(interval, computed);
  return Naming(interval, std::visit(take, std::move(decoded)));
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
  if (answer.existing_choice == ExistingFilterChoice::kServer) {
    const ClientSessionOptions& options = context_.options;
    // Ranges end where such filters do, which would tear apart a scan that sessions share.
    if (options.shared != nullptr || !WantsExistingFilters(options.planner.strategy)) {
      return absl::InvalidArgumentError("the server sends filters that it was not asked for");
    }
    context_.existing.BeginReceiving();
  }
  if (answer.existing_choice == ExistingFilterChoice::kClient) {
    if (!context_.offer.exists()) {
      return absl::InvalidArgumentError("the server wants filters that were not offered");
    }
    context_.existing.BeginSending(answer.accepted_filter_bytes);
  }
  reconciler_.BeginOpening();
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
  RETURN_IF_ERROR(reconciler_.TakeDone());
  if (context_.outbox.empty() && answered_ && !done_) {
    RETURN_IF_ERROR(Advance());
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
  if (status.ok() && outbox.empty()) status = reconciler_.OpenNext();
  if (!status.ok()) return status;
  if (outbox.empty() && !existing.finished() && existing.Next(&filters))
    status = context_.Send(filters);
  context_.statistics.sst_filters = existing.filters();
  context_.statistics.sst_filter_bytes = existing.bytes();
  const bool ranges_are_left = !context_.ranges.empty() || context_.ranges.rest();
  if (!status.ok() || !outbox.empty() || ranges_are_left) return status;
  const absl::StatusOr<bool> finished = absent_.Advance();
  if (!finished.ok() || !*finished) return finished.status();
  done_ = all_is_given_ = true;
  return context_.Send(Goodbye());
}

std::optional<KeyInterval> ClientSession::Uncommitted() const {
  std::optional<KeyInterval> unfinished = context_.ranges.Unfinished();
  if (!unfinished && !all_is_given_) return KeyInterval{"", ""};
  return unfinished;
}

namespace {

constexpr size_t kFetchedAhead = 2;  // ranges whose rows are on their way

}  // namespace

absl::Status ResultDelivery::Advance() {
  ClientRanges& ranges = context_->ranges;
  if (!SendsRows(context_->options.operation)) {
    while (!ranges.empty() && ranges.front().Is<ClientRange::Reconciled>()) {
      RETURN_IF_ERROR(FinishFirst());
    }
    return absl::OkStatus();
  }
  size_t ahead = 0;
  for (ClientRange& range : ranges) {
    const bool reconciled = range.Is<ClientRange::Reconciled>();
    if (ahead++ == kFetchedAhead || (!reconciled && !range.Is<ClientRange::Fetching>())) break;
    if (!reconciled) continue;
    BeginFetching(&range);
    RETURN_IF_ERROR(context_->Send(Fetch{range.number, range.attempt}, &range));
  }
  return absl::OkStatus();
}

// The result is made from the rows that will come.
void ResultDelivery::BeginFetching(ClientRange* range) {
  const ClientSessionOptions& options = context_->options;
  ClientRange::Fetching fetching{std::get<ClientRange::Reconciled>(std::move(range->phase)),
                                 nullptr};
  ReconciledRange reconciled;
  reconciled.interval = range->interval;
  reconciled.salt = context_->SaltOf(*range);
  reconciled.matched = std::move(fetching.reconciled.matched);
  reconciled.mine = range->keys.sum;
  reconciled.theirs = range->theirs;
  fetching.result = std::make_unique<RangeResult>(options.operation, std::move(reconciled), options,
                                                  context_->source, context_->sink);
  range->phase = std::move(fetching);
}

absl::Status ResultDelivery::Receive(const Rows& rows) {
  ASSIGN_OR_RETURN(ClientRange* const range, context_->ranges.Find(rows.range));
  if (rows.attempt < range->attempt) return IgnoreRows(range, rows);
  auto* const fetching = std::get_if<ClientRange::Fetching>(&range->phase);
  if (range != &context_->ranges.front() || rows.attempt != range->attempt || fetching == nullptr) {
    return absl::InvalidArgumentError("the server sent rows that it was not asked for");
  }
  const absl::Status status = fetching->result->Receive(rows.batch);
  if (absl::IsAborted(status)) return DiscardAndRepeat(range, status);
  return status.ok() && rows.last ? FinishFirst() : status;
}

// Of an attempt that was given up: there may be as many of them as of one that was not.
absl::Status ResultDelivery::IgnoreRows(ClientRange* range, const Rows& rows) const {
  range->ignored_bytes += rows.batch.size();
  if (range->ignored_bytes <= context_->options.most_unproven_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the server sent ", range->ignored_bytes,
                   " bytes of rows of an attempt that was given up, and no end"));
}

absl::Status ResultDelivery::DiscardAndRepeat(ClientRange* range, const absl::Status& why) {
  const absl::Status status = context_->sink->Discard();
  return status.ok() ? context_->Repeat(range, why) : status;
}

absl::Status ResultDelivery::FinishFirst() {
  ClientRange& range = context_->ranges.front();
  if (range.Is<ClientRange::Reconciled>()) BeginFetching(&range);  // of rows, none
  const absl::Status status = std::get<ClientRange::Fetching>(range.phase).result->Finish();
  if (absl::IsAborted(status)) return DiscardAndRepeat(&range, status);
  if (!status.ok()) return status;
  RETURN_IF_ERROR(context_->sink->Commit());
  Report(&range);
  context_->ranges.PopFront();
  return absl::OkStatus();
}

void ResultDelivery::Report(ClientRange* range) {
  RangeReport* const report = &range->report;
  const auto& [reconciled, result] = std::get<ClientRange::Fetching>(range->phase);
  report->begin = range->interval.begin;
  report->end = range->interval.end;
  report->equal = reconciled.equal;
  report->repeats = range->attempt;
  report->local_keys = report->matched_keys = range->keys.sum.count;
  report->remote_keys = range->theirs.count;
  report->rows_received = result->rows_received();
  report->bits_per_key = range->keys.bits.each;
  report->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - *range->opened).count();
  if (!reconciled.equal) {
    const uint64_t matched = report->matched_keys = reconciled.matched_keys;
    const Matching::Counts& counts = reconciled.counts;
    report->keys_pruned = counts.candidates_pruned + (range->pruned ? range->pruned_keys : 0);
    if (counts.filters_received > 0 || range->pruned) {
      report->local_false_positives = report->local_keys - report->keys_pruned - matched;
    }
    if (counts.filters_sent > 0 && counts.their_candidates) {
      report->remote_false_positives =
          *counts.their_candidates - std::min(*counts.their_candidates, matched);
    }
  }
  report->moves = PartsOf(*report);
  report->shipped_keys_bytes = static_cast<uint64_t>(ShippedKeysBytes(*report));
  report->textbook_bloom_join_bytes = static_cast<uint64_t>(TextbookBloomJoinBytes(*report));
  AddRange(*report, &context_->statistics);
  if (context_->options.range_done) context_->options.range_done(*report);
}

absl::StatusOr<bool> AbsentRowsFetch::Advance() {
  const ClientSessionOptions& options = context_->options;
  const SetSum& theirs = context_->answer.absent;
  if (reader_ != nullptr) return false;
  if (!options.absent_rows || !WantsAbsentRows(options.operation)) return true;
  if (SendsUnmatched(options.operation) && theirs.count > 0 && !received_) {
    reader_ = std::make_unique<AbsentRowsReader>(theirs, options.salt, options, context_->sink);
    RETURN_IF_ERROR(context_->Send(Fetch{kAbsentRange, attempt_}));
    return false;
  }
  RETURN_IF_ERROR(GiveOwnRows());
  return true;
}

absl::Status AbsentRowsFetch::GiveOwnRows() {
  const ClientSessionOptions& options = context_->options;
  Statistics& statistics = context_->statistics;
  statistics.remote_absent_rows = context_->answer.absent.count;
  Sink* const sink = EmitsLocalRows(options.operation) ? context_->sink : nullptr;
  absl::Status status;
  if (options.own_absent_rows) {
    status = EmitAbsentRows(context_->source, sink, &statistics.local_absent_rows);
  }
  // Those of both sides together, so that a session that breaks has given all of them or none.
  if (status.ok() && (received_ || (statistics.local_absent_rows > 0 && sink != nullptr))) {
    status = context_->sink->Commit();
  }
  return status;
}

absl::Status AbsentRowsFetch::Receive(const Rows& rows) {
  if (rows.attempt < attempt_) return absl::OkStatus();  // of one that was given up
  if (reader_ == nullptr || rows.attempt != attempt_) {
    return absl::InvalidArgumentError("the server sent rows that it was not asked for");
  }
  absl::Status status = reader_->Receive(rows.batch);
  if (status.ok() && !rows.last) return status;
  if (status.ok()) status = reader_->Finish();
  if (!status.ok() && !absl::IsAborted(status)) return status;
  const uint64_t rows_received = reader_->rows();
  reader_.reset();
  if (!status.ok()) return Repeat();
  received_ = true;
  context_->statistics.rows_received += rows_received;
  return absl::OkStatus();
}

absl::Status AbsentRowsFetch::Repeat() {
  context_->statistics.repeated_ranges++;
  attempt_++;
  if (attempt_ >= static_cast<uint32_t>(context_->options.most_attempts)) {
    return absl::DataLossError(
        "the other side's rows with a NULL key do not add up to what it said that it has; it is "
        "broken, or changes its data while it is read. None of them was given");
  }
  return context_->sink->Discard();
}

}  // namespace rocksieve::join
