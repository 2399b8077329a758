// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/client_state.h"

#include <optional>
#include <string_view>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/parts.h"

namespace rocksieve::join {
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
