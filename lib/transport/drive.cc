#include "transport/drive.h"

#include <string>
#include <utility>

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>

#include "join/messages.h"
#include "transport/frame.h"
#include "transport/guarded.h"

namespace rocksieve::join {
namespace {

constexpr size_t kFullFrameBytes = 128 << 10;  // small messages wait until so many are together

class Driver {
 public:
  Driver(Session* session, Exchange* exchange, const Cancellation* cancellation,
         const DriveLimits& limits)
      : session_(session),
        exchange_(exchange),
        cancellation_(cancellation),
        limits_(limits),
        reader_(limits.most_message_bytes) {}

  absl::Status Run() {
    for (;;) {
      absl::Status status = TakeAll();
      if (!status.ok()) return status;
      if (!exchange_->HasRoom()) {
        status = Wait(/*for_room=*/true);
        if (!status.ok()) return status;
        continue;
      }
      absl::StatusOr<std::string> message = session_->Next();
      if (!message.ok()) return message.status();
      if (!message->empty()) {
        status = Add(*message);
        if (!status.ok()) return status;
        continue;
      }
      Flush(/*least_bytes=*/1);
      if (session_->done()) return absl::OkStatus();
      status = Wait(/*for_room=*/false);
      if (!status.ok()) return status;
    }
  }

  // The other side is told why, unless it said so itself.
  void Tell(const absl::Status& status) {
    if (session_->done()) return;
    writer_ = FrameWriter();  // what was not sent is of no use any more
    writer_.Add(Encode(Failure{status}));
    Flush(/*least_bytes=*/1);
  }

 private:
  absl::Status TakeAll() {
    std::string piece;
    while (exchange_->TakeArrived(&piece)) {
      // A side that never stops talking is never waited for.
      const absl::Status cancelled = cancellation_->Check();
      if (!cancelled.ok()) return cancelled;
      unanswered_bytes_ = exchange_->HasRoom() ? 0 : unanswered_bytes_ + piece.size();
      if (unanswered_bytes_ > limits_.most_unanswered_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the other side sent ", unanswered_bytes_, " bytes and took no answer"));
      }
      const absl::Status status = reader_.Add(
          piece, [this](std::string_view message) { return session_->Receive(message); });
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Add(const std::string& message) {
    if (message.size() > limits_.most_message_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("a message would have ", message.size(),
                                                       " bytes, where ", limits_.most_message_bytes,
                                                       " are allowed: allow more on both sides"));
    }
    writer_.Add(message);
    Flush(kFullFrameBytes);
    return absl::OkStatus();
  }

  void Flush(size_t least_bytes) {
    while (writer_.pending_bytes() >= least_bytes) exchange_->Send(writer_.TakePiece());
  }

  absl::Status Wait(bool for_room) {
    switch (exchange_->Wait(for_room)) {
      case Exchange::Event::kArrived:
      case Exchange::Event::kRoom:
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
  uint64_t unanswered_bytes_ = 0;
};

}  // namespace

absl::Status Drive(Session* session, FrameChannel* channel, const Cancellation* cancellation,
                   const DriveLimits& limits, WireCounts* counts) {
  Exchange exchange(channel, cancellation, limits.exchange);
  Driver driver(session, &exchange, cancellation, limits);
  const absl::Status status = Guarded([&driver] { return driver.Run(); });
  if (!status.ok()) driver.Tell(status);
  const bool closed = exchange.Finish();
  *counts = exchange.counts();
  if (!status.ok() || closed) return status;
  return absl::UnavailableError("the stream broke when the join was done");
}

}  // namespace rocksieve::join
