// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/client_ranges.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/planner.h"
#include "support/return_if_error.h"

namespace rocksieve::join {

ClientRanges::ClientRanges(const KeyInterval& interval, const std::vector<KeyInterval>& parts,
                           uint64_t* created, MemoryAccount* account)
    : created_(created), account_(account), end_(interval.end) {
  if (parts.empty()) parts_.push_back(interval);
  for (KeyInterval part : parts) {
    part.begin = std::max(part.begin, interval.begin);
    if (end_ && (!part.end || *end_ < *part.end)) part.end = end_;
    if (!part.end || part.begin < *part.end) parts_.push_back(std::move(part));
  }
  TakeNextPart();
}

void ClientRanges::TakeNextPart() {
  rest_.reset();
  if (parts_.empty()) return;
  rest_ = std::move(parts_.front());
  parts_.pop_front();
}

absl::StatusOr<ClientRange*> ClientRanges::Find(uint64_t number) {
  for (ClientRange& range : ranges_) {
    if (range.number == number) return &range;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the server speaks of range ", number, ", which is not open"));
}

absl::StatusOr<ClientRange*> ClientRanges::AddNext(std::optional<std::string> end) {
  KeyInterval interval{rest_->begin, std::move(end)};
  if (interval.end == rest_->end) {
    TakeNextPart();
  } else {
    rest_->begin = *interval.end;
  }
  const uint64_t number = next_range_;
  next_range_ += 2;
  return Add(ranges_.end(), number, std::move(interval));
}

void ClientRanges::GiveBack(ClientRange* range, const std::string& next_key) {
  if (rest_ && rest_->begin == range->interval.end) {
    rest_->begin = next_key;
  } else {
    if (rest_) parts_.push_front(*std::move(rest_));
    rest_ = KeyInterval{next_key, range->interval.end};
  }
  range->interval.end = next_key;
}

absl::Status ClientRanges::CutShort(ClientRange* range, const std::string& next_key) {
  const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                  [range](const ClientRange& other) { return &other == range; });
  const auto added =
      Add(std::next(found), next_cut_range_, KeyInterval{next_key, range->interval.end});
  next_cut_range_ += 2;
  range->interval.end = next_key;
  return added.status();
}

std::optional<KeyInterval> ClientRanges::Unfinished() const {
  if (ranges_.empty() && !rest_) return std::nullopt;
  return KeyInterval{ranges_.empty() ? rest_->begin : ranges_.front().interval.begin, end_};
}

absl::StatusOr<ClientRange*> ClientRanges::Add(List::iterator before, uint64_t number,
                                               KeyInterval interval) {
  // In the range, its reader, its result and its report.
  constexpr uint64_t kCopies = 4;
  const uint64_t bytes = interval.begin.size() + (interval.end ? interval.end->size() : 0);
  const auto range = ranges_.emplace(before, number, std::move(interval), account_);
  ++*created_;
  RETURN_IF_ERROR(range->memory.Resize(sizeof(ClientRange) + kCopies * bytes, "fences of ranges"));
  return &*range;
}

namespace {

constexpr size_t kMostParts = 1000;  // that a report has, whatever comes

// By what they are for. `bytes`: of the message.
void CountBytes(const Message& message, uint64_t bytes, WireBytes* traffic) {
  if (std::holds_alternative<Rows>(message)) {
    traffic->payload += bytes;
  } else if (std::holds_alternative<Filters>(message)) {
    traffic->filters += bytes;
  } else if (const Step* step = std::get_if<Step>(&message)) {
    uint64_t filters = 0;
    VisitParts(step->message, [&filters](Part part, std::string_view body) {
      if (part == Part::kFilter) filters += body.size();
    });
    traffic->filters += filters;
    traffic->verification += bytes - filters;
  } else {
    traffic->planning += bytes;
  }
}

// The range that a message of the server is about, if any.
std::optional<uint64_t> RangeOf(const Message& message) {
  if (const Facts* facts = std::get_if<Facts>(&message)) return facts->range;
  if (const Step* step = std::get_if<Step>(&message)) return step->range;
  if (const Rows* rows = std::get_if<Rows>(&message)) return rows->range;
  return std::nullopt;
}

// Adds what the step begins, if the message is one.
void NoteParts(const Message& message, RangeReport* report) {
  const Step* step = std::get_if<Step>(&message);
  if (step == nullptr) return;
  VisitParts(step->message, [report](Part part, std::string_view) {
    if (!BeginsSomething(part)) return;
    // More symbols of the same begin nothing new.
    const bool again =
        part == Part::kSymbols && !report->parts.empty() && report->parts.back() == Part::kSymbols;
    if (!again && report->parts.size() < kMostParts) report->parts.push_back(part);
  });
}

}  // namespace

ClientState::ClientState(Source* the_source, Sink* the_sink,
                         const ClientSessionOptions& the_options)
    : source(the_source),
      sink(the_sink),
      options(the_options),
      existing(source, options.existing, options.memory),
      ranges(options.interval, options.parts, &statistics.ranges, options.memory),
      outbox(options.memory),
      turns(options.workers, options.memory) {}

absl::Status ClientState::Send(const Message& message, ClientRange* range) {
  std::string bytes = Encode(message);
  CountBytes(message, bytes.size(), &statistics.sent);
  if (range != nullptr) {
    CountBytes(message, bytes.size(), &range->report.sent);
    NoteParts(message, &range->report);
    range->asked = true;
  }
  return outbox.Add(std::move(bytes));
}

ClientRange* ClientState::Heard(const Message& message, uint64_t bytes) {
  CountBytes(message, bytes, &statistics.received);
  const std::optional<uint64_t> number = RangeOf(message);
  for (ClientRange& range : ranges) {
    if (number != range.number) continue;
    CountBytes(message, bytes, &range.report.received);
    NoteParts(message, &range.report);
    range.report.round_trips += std::exchange(range.asked, false);
    return &range;
  }
  return nullptr;
}

absl::Status ClientState::Repeat(ClientRange* range, const absl::Status& why) {
  statistics.repeated_ranges++;
  range->attempt++;
  const uint32_t faults = range->attempt - range->attempts_without_fault;
  if (faults >= static_cast<uint32_t>(options.most_attempts)) {
    return absl::DataLossError(absl::StrCat(
        "the two sides still disagree about a range after ", faults, " attempts (", why.message(),
        "); one of them is broken, or changes its data while it is read. No result was given "
        "for the range"));
  }
  range->phase = ClientRange::ToOpen();
  range->keys_memory.Release();
  return absl::OkStatus();
}

absl::Status ClientState::RepeatWithoutExisting(ClientRange* range) {
  absl::Status status;
  if (existing.usable() && existing.role() == ExistingFilterExchange::Role::kSender) {
    status = Send(Filters{Filters::State::kWithdrawn, ""});
  }
  existing.Withdraw();
  statistics.sst_filters_withdrawn_ranges++;
  statistics.sst_filters_pruned_keys -= std::exchange(range->pruned_keys, 0);
  range->attempt++;
  range->attempts_without_fault++;
  range->phase = ClientRange::ToOpen();
  return status;
}

}  // namespace rocksieve::join
