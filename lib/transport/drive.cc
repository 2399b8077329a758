// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/drive.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>

#include "lib/join/session/messages.h"
#include "lib/transport/frame.h"
#include "lib/transport/status.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kPiecesBetween = 3;         // on their way between queues, gRPC and this
constexpr size_t kFullFrameBytes = 128 << 10;  // small messages wait until so many are together

class Driver {
 public:
  Driver(Session* session, Exchange* exchange, const Cancellation* cancellation,
         const DriveLimits& limits)
      : session_(session),
        exchange_(exchange),
        cancellation_(cancellation),
        limits_(limits),
        reader_(limits.most_message_bytes, limits.memory),
        queues_(limits.memory),
        unsent_(limits.memory) {}

  absl::Status Run() {
    absl::Status status = queues_.Resize(QueueBytes(limits_), "queues of a stream");
    while (status.ok()) {
      Flush(kFullFrameBytes);
      const bool room = exchange_->HasRoom() && writer_.pending_bytes() < kFullFrameBytes;
      const bool may_hear = room || session_->always_hears();
      bool heard = false;
      if (may_hear) status = Hear(room, &heard);
      if (!status.ok()) break;
      bool said = false;
      if (room) status = Say(&said);
      if (!status.ok() || heard || said) continue;
      if (room) Flush(/*least_bytes=*/1);
      if (room && session_->done()) return absl::OkStatus();
      status = Wait(may_hear, /*for_room=*/!room);
    }
    return status;
  }

  // The other side is told why, unless it said so itself.
  void Tell(const absl::Status& status) {
    if (session_->done()) return;
    writer_ = FrameWriter();  // what was not sent is of no use any more
    writer_.Add(Encode(Failure{status}));
    exchange_->Send(writer_.TakePiece());
  }

 private:
  // One message, if there is one.
  absl::Status Hear(bool room, bool* heard) {
    // A side that never stops talking is never waited for.
    const absl::Status cancelled = cancellation_->Check();
    if (!cancelled.ok()) return cancelled;
    for (;;) {
      const absl::StatusOr<std::optional<std::string_view>> message = reader_.Next();
      if (!message.ok()) return message.status();
      *heard = message->has_value();
      if (*heard) return session_->Receive(**message);
      std::string piece;
      if (!exchange_->TakeArrived(&piece)) return absl::OkStatus();
      unanswered_bytes_ = room ? 0 : unanswered_bytes_ + piece.size();
      if (unanswered_bytes_ > limits_.most_unanswered_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the other side sent ", unanswered_bytes_, " bytes and took no answer"));
      }
      const absl::Status status = reader_.Add(piece);
      if (!status.ok()) return status;
    }
  }

  absl::Status Say(bool* said) {
    const absl::StatusOr<std::string> message = session_->Next();
    if (!message.ok()) return message.status();
    *said = !message->empty();
    return *said ? Add(*message) : absl::OkStatus();
  }

  absl::Status Add(const std::string& message) {
    if (message.size() > limits_.most_message_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("a message would have ", message.size(),
                                                       " bytes, where ", limits_.most_message_bytes,
                                                       " are allowed: allow more on both sides"));
    }
    // The message, and what the writer makes of it.
    const absl::Status status =
        unsent_.Resize(writer_.memory_bytes() + 2 * message.size(), "messages that leave");
    if (!status.ok()) return status;
    writer_.Add(message);
    Flush(kFullFrameBytes);
    return unsent_.Resize(writer_.memory_bytes(), "messages that leave");
  }

  void Flush(size_t least_bytes) {
    while (writer_.pending_bytes() >= least_bytes && exchange_->HasRoom()) {
      exchange_->Send(writer_.TakePiece());
    }
  }

  absl::Status Wait(bool for_arrival, bool for_room) {
    switch (exchange_->Wait(for_arrival, for_room, session_->computes())) {
      case Exchange::Event::kArrived:
      case Exchange::Event::kRoom:
      case Exchange::Event::kWoken:
        return absl::OkStatus();
      case Exchange::Event::kCancelled:
        return cancellation_->Check();
      case Exchange::Event::kSilence:
        return absl::DeadlineExceededError(absl::StrCat(
            "the other side has been silent for ", limits_.exchange.silence.count() / 1000.0,
            " s: see what it does, or allow it more time"));
      case Exchange::Event::kEnded:
        break;
    }
    return absl::UnavailableError("the stream broke before the join was done");
  }

  Session* const session_;
  Exchange* const exchange_;
  const Cancellation* const cancellation_;
  const DriveLimits limits_;
  FrameReader reader_;
  FrameWriter writer_;
  MemoryHold queues_, unsent_;
  uint64_t unanswered_bytes_ = 0;
};

}  // namespace

DriveLimits Within(MemoryAccount* memory, DriveLimits limits) {
  const uint64_t bytes = memory->limit_bytes();
  limits.memory = memory;
  limits.most_message_bytes = std::min(limits.most_message_bytes, bytes / 4);
  limits.most_unanswered_bytes = std::min(limits.most_unanswered_bytes, bytes);
  Exchange::Limits* const exchange = &limits.exchange;
  exchange->most_arrived_bytes = std::min<size_t>(exchange->most_arrived_bytes, bytes / 8);
  exchange->most_pending_bytes = std::min<size_t>(exchange->most_pending_bytes, bytes / 8);
  return limits;
}

uint64_t QueueBytes(const DriveLimits& limits) {
  return limits.exchange.most_arrived_bytes + limits.exchange.most_pending_bytes +
         kPiecesBetween * kMostPieceBytes;
}

absl::Status Drive(Session* session, Exchange* exchange, const Cancellation* cancellation,
                   const DriveLimits& limits, WireCounts* counts) {
  exchange->Begin(limits.exchange, cancellation);
  Driver driver(session, exchange, cancellation, limits);
  session->WhenReady([exchange] { exchange->Wake(); });
  const absl::Status status = Guarded([&driver] { return driver.Run(); });
  session->WhenReady(nullptr);
  if (!status.ok()) driver.Tell(status);
  const bool closed = exchange->Close();
  *counts = exchange->counts();
  if (!status.ok() || closed) return status;
  return absl::UnavailableError("the stream broke when the join was done");
}

}  // namespace rocksieve::join
