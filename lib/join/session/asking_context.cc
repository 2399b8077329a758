#include "lib/join/session/asking_context.h"

#include <optional>
#include <string_view>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/turn_parts.h"

namespace rocksieve::join {
namespace {

constexpr size_t kMostMoves = 1000;  // that a report has, whatever comes

// By what they are for. `bytes`: of the message.
void CountBytes(const Message& message, uint64_t bytes, Traffic* traffic) {
  if (std::holds_alternative<Rows>(message)) {
    traffic->payload += bytes;
  } else if (std::holds_alternative<Filters>(message)) {
    traffic->filters += bytes;
  } else if (const Turn* turn = std::get_if<Turn>(&message)) {
    uint64_t filters = 0;
    VisitParts(turn->message, [&filters](Part part, std::string_view body) {
      if (part == Part::kFilter) filters += body.size();
    });
    traffic->filters += filters;
    traffic->verification += bytes - filters;
  } else {
    traffic->planning += bytes;
  }
}

// The range that a message of the answering side is about, if any.
std::optional<uint64_t> RangeOf(const Message& message) {
  if (const Facts* facts = std::get_if<Facts>(&message)) return facts->range;
  if (const Turn* turn = std::get_if<Turn>(&message)) return turn->range;
  if (const Rows* rows = std::get_if<Rows>(&message)) return rows->range;
  return std::nullopt;
}

// Adds the moves that the message consists of.
void NoteMoves(const Message& message, RangeReport* report) {
  const Turn* turn = std::get_if<Turn>(&message);
  if (turn == nullptr) return;
  VisitParts(turn->message, [report](Part part, std::string_view) {
    if (part > Part::kSketch) return;  // an answer
    const auto move = static_cast<MoveKind>(part);
    // More symbols of the same are no move of their own.
    const bool again = move == MoveKind::kSymbols && !report->moves.empty() &&
                       report->moves.back() == MoveKind::kSymbols;
    if (!again && report->moves.size() < kMostMoves) report->moves.push_back(move);
  });
}

}  // namespace

AskingContext::AskingContext(Source* the_source, Sink* the_sink, const AskingOptions& the_options)
    : source(the_source),
      sink(the_sink),
      options(the_options),
      ready(source, options.ready, options.memory),
      tasks(options.interval, &statistics.ranges, options.memory),
      outbox(options.memory) {}

absl::Status AskingContext::Send(const Message& message, AskingTask* task) {
  std::string bytes = Encode(message);
  CountBytes(message, bytes.size(), &statistics.sent);
  if (task != nullptr) {
    CountBytes(message, bytes.size(), &task->report.sent);
    NoteMoves(message, &task->report);
    task->asked = true;
  }
  return outbox.Add(std::move(bytes));
}

AskingTask* AskingContext::Heard(const Message& message, uint64_t bytes) {
  CountBytes(message, bytes, &statistics.received);
  const std::optional<uint64_t> range = RangeOf(message);
  for (AskingTask& task : tasks) {
    if (range != task.range) continue;
    CountBytes(message, bytes, &task.report.received);
    NoteMoves(message, &task.report);
    task.report.round_trips += std::exchange(task.asked, false);
    return &task;
  }
  return nullptr;
}

absl::Status AskingContext::Repeat(AskingTask* task, const absl::Status& why) {
  statistics.repeated_ranges++;
  task->attempt++;
  const uint32_t faults = task->attempt - task->attempts_without_fault;
  if (faults >= static_cast<uint32_t>(options.most_attempts)) {
    return absl::DataLossError(absl::StrCat(
        "the two sides still disagree about a range after ", faults, " attempts (", why.message(),
        "); one of them is broken, or changes its data while it is read. No result was given "
        "for the range"));
  }
  task->phase = AskingTask::ToOpen();
  task->keys_memory.Release();
  return absl::OkStatus();
}

absl::Status AskingContext::RepeatWithoutReady(AskingTask* task) {
  absl::Status status;
  if (ready.usable() && ready.role() == ReadyExchange::Role::kSender) {
    status = Send(Filters{Filters::State::kWithdrawn, ""});
  }
  ready.Withdraw();
  statistics.ready.withdrawn_ranges++;
  statistics.ready.pruned_keys -= std::exchange(task->pruned_keys, 0);
  task->attempt++;
  task->attempts_without_fault++;
  task->phase = AskingTask::ToOpen();
  return status;
}

}  // namespace rocksieve::join
