#include "lib/join/session/asking_side.h"

#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/rows/interval_text.h"
#include "lib/join/session/asking_task.h"
#include "lib/join/session/message_accounting.h"

namespace rocksieve::join {

AskingSide::AskingSide(Source* source, Sink* sink, const AskingOptions& options)
    : source_(source),
      sink_(sink),
      options_(options),
      ready_(source, options.ready, options.memory),
      rest_(options.interval),
      outbox_(options.memory) {
  Hello hello;
  hello.operation = options_.operation;
  hello.salt = options_.salt;
  hello.keys = source_->EstimateKeys();
  hello.strategy = options_.planner.strategy;
  hello.most_round_trips = static_cast<uint32_t>(options_.planner.most_round_trips);
  // Sessions that share a scan all need the same of it.
  if (WantsReadyFilters(options_.planner.strategy) && options_.shared == nullptr) {
    hello.interval = options_.interval;
    hello.ready = offer_ = ready_.Offer(options_.interval);
    hello.accepted_ready_bytes = options_.ready.most_bytes;
    hello.readable_formats = options_.ready.readable_formats();
  }
  begun_ = Send(hello);
}

AskingSide::~AskingSide() = default;

absl::Status AskingSide::Send(const Message& message, Task* task) {
  std::string bytes = Encode(message);
  CountBytes(message, bytes.size(), &statistics_.sent);
  if (task != nullptr) {
    CountBytes(message, bytes.size(), &task->report.sent);
    NoteMoves(message, &task->report);
    task->asked = true;
  }
  return outbox_.Add(std::move(bytes));
}

absl::Status AskingSide::Receive(std::string_view message) {
  MemoryHold decoding(options_.memory);
  const absl::Status room = decoding.Resize(message.size(), "a message");
  if (!room.ok()) return room;
  absl::StatusOr<Message> decoded = Decode(message);
  if (!decoded.ok()) return decoded.status();
  CountBytes(*decoded, message.size(), &statistics_.received);
  const std::optional<uint64_t> range = RangeOf(*decoded);
  for (Task& task : tasks_) {
    if (range != task.range) continue;
    CountBytes(*decoded, message.size(), &task.report.received);
    NoteMoves(*decoded, &task.report);
    task.report.round_trips += std::exchange(task.asked, false);
    const KeyInterval interval = task.interval;  // the task may be done after this
    return Naming(interval, std::visit([this](const auto& alternative) { return On(alternative); },
                                       *decoded));
  }
  return std::visit([this](const auto& alternative) { return On(alternative); }, *decoded);
}

template <typename Other>
absl::Status AskingSide::On(const Other&) {
  return absl::InvalidArgumentError("the answering side sent a message that only askers may send");
}

absl::Status AskingSide::On(const HelloAnswer& answer) {
  if (answer_) return absl::InvalidArgumentError("the answering side answered hello twice");
  if (answer.version != kProtocolVersion) {
    return absl::UnimplementedError(absl::StrCat(
        "the answering side speaks version ", answer.version, " of the join protocol, this side ",
        kProtocolVersion, ": use the same version of rocksieve on both sides"));
  }
  if (answer.hash_check != HashCheck(options_.salt)) {
    return absl::InvalidArgumentError(
        "the answering side computes other hashes than this side: use the same version of "
        "rocksieve on both sides");
  }
  if (options_.keys_are_unique && answer.absent.count > 0) {
    return absl::InvalidArgumentError(
        "the answering side has rows without a key, where whole keys are joined on");
  }
  answer_ = answer;
  statistics_.ready.choice = answer.ready_choice;
  if (answer.ready_choice == ReadyChoice::kAnswering) ready_.BeginReceiving();
  if (answer.ready_choice == ReadyChoice::kAsking) {
    if (!offer_.exists()) {
      return absl::InvalidArgumentError("the answering side wants filters that were not offered");
    }
    ready_.BeginSending(answer.accepted_ready_bytes);
  }
  keys_per_range_ = KeysPerRange();
  return absl::OkStatus();
}

absl::Status AskingSide::On(const Filters& filters) { return ready_.Receive(filters); }

absl::Status AskingSide::On(const Failure& failure) {
  done_ = other_side_failed_ = true;
  return absl::Status(failure.status.code(),
                      absl::StrCat("the other side failed: ", failure.status.message()));
}

absl::StatusOr<AskingSide::Task*> AskingSide::Find(uint64_t range) {
  for (Task& task : tasks_) {
    if (task.range == range) return &task;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the answering side speaks of range ", range, ", which is not open"));
}

absl::StatusOr<std::string> AskingSide::Next() {
  if (!begun_.ok()) return begun_;
  if (outbox_.empty() && answer_ && !done_) {
    const absl::Status status = Advance();
    if (!status.ok()) return status;
  }
  return outbox_.empty() ? std::string() : outbox_.Take();
}

absl::Status AskingSide::Advance() {
  absl::Status status = AdvanceSettled();
  Filters filters;
  if (status.ok() && outbox_.empty() && ready_.has_unsent() && ready_.Next(&filters)) {
    status = Send(filters);
  }
  if (status.ok() && outbox_.empty()) status = OpenNext();
  if (!status.ok()) return status;
  if (outbox_.empty() && !ready_.finished() && ready_.Next(&filters)) status = Send(filters);
  statistics_.ready.filters = ready_.filters();
  statistics_.ready.bytes = ready_.bytes();
  if (!status.ok() || !outbox_.empty() || !tasks_.empty() || rest_) return status;
  const absl::StatusOr<bool> finished = AdvanceAbsent();
  if (!finished.ok() || !*finished) return finished.status();
  done_ = true;
  return Send(Goodbye());
}

std::optional<KeyInterval> AskingSide::Uncommitted() const {
  if (!tasks_.empty()) return KeyInterval{tasks_.front().interval.begin, options_.interval.end};
  if (!rest_ && !done_) return KeyInterval{"", ""};
  return rest_;
}

}  // namespace rocksieve::join
