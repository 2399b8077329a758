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
#include "lib/join/session/session.h"
#include "lib/transport/frame.h"
#include "lib/transport/status.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

// For telling a side that is silent that it is given up.
constexpr std::chrono::milliseconds kLastWord(200);

// What a piece takes in a queue: short ones take more than their bytes.
size_t MemoryBytes(const std::string& piece) { return sizeof(piece) + piece.size(); }

// Of a message of protobuf with one field of bytes; a greeting does not count.
void Count(const std::string& piece, uint64_t* bytes) {
  if (piece.empty()) return;
  *bytes += 2 + piece.size();
  for (size_t length = piece.size(); length >= 0x80; length >>= 7) ++*bytes;
}

}  // namespace

// No lock is held while an operation is started: it may end before it returns.

void Exchange::Begin(const Limits& limits, const Cancellation* cancellation) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    limits_ = limits;
    cancellation_ = cancellation;
  }
  ReadOn();
}

void Exchange::ReadOn() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (reading_ || read_ended_ || given_up_) return;
    if (arrived_bytes_ >= limits_.most_arrived_bytes && !closing_) return;
    reading_ = true;
  }
  StartReading();
}

// What throws here, for want of memory, ends the stream and nothing else.
void Exchange::OnRead(bool ok, std::string piece) noexcept {
  bool lost = false;
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    reading_ = false;
    read_ended_ = !ok;
    if (ok) {
      read_progress_ = Clock::now();
      Count(piece, &counts_.bytes_received);
    }
    if (ok && !closing_) {  // else nobody will look at it
      const size_t bytes = MemoryBytes(piece);
      arrived_.push_back(std::move(piece));
      arrived_bytes_ += bytes;
    }
  } catch (...) {
    lost = true;
  }
  if (lost) GiveUp();
  changed_.notify_all();
  ReadOn();
}

void Exchange::WriteOn() {
  std::string piece;
  bool close = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (writing_ || write_ended_ || given_up_) return;
    close = closing_ && pending_.empty();
    if (!close && pending_.empty()) return;
    if (!close) {
      piece = std::move(pending_.front());
      pending_.pop_front();
      written_bytes_ = MemoryBytes(piece);
      Count(piece, &counts_.bytes_sent);
    }
    close_sent_ = close;
    writing_ = true;
  }
  try {
    close ? StartClosing() : StartWriting(std::move(piece));
  } catch (...) {
    OnWritten(false);
  }
}

void Exchange::OnWritten(bool ok) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    writing_ = false;
    pending_bytes_ -= std::exchange(written_bytes_, 0);
    if (!ok && !close_sent_) write_failed_ = true;
    if (ok) write_progress_ = Clock::now();
    write_ended_ = !ok || close_sent_;
  }
  changed_.notify_all();
  WriteOn();
}

bool Exchange::Stop(Clock::time_point until) {
  std::unique_lock<std::mutex> lock(mutex_);
  given_up_ = true;
  return changed_.wait_until(lock, until, [this] { return !writing_; });
}

bool Exchange::TakeArrived(std::string* piece) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (arrived_.empty()) return false;
    *piece = std::move(arrived_.front());
    arrived_.pop_front();
    arrived_bytes_ -= MemoryBytes(*piece);
  }
  ReadOn();
  return true;
}

bool Exchange::HasRoom() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return pending_bytes_ < limits_.most_pending_bytes;
}

void Exchange::Send(std::string piece) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t bytes = MemoryBytes(piece);
    pending_.push_back(std::move(piece));
    pending_bytes_ += bytes;
  }
  WriteOn();
}

void Exchange::WaitForChange(std::unique_lock<std::mutex>* lock, Clock::time_point until) {
  join::WaitForChange(&changed_, lock, std::min(until, cancellation_->deadline()),
                      cancellation_->token());
}

Exchange::Event Exchange::Wait(bool for_arrival, bool for_room, bool computes) {
  std::unique_lock<std::mutex> lock(mutex_);
  const Clock::time_point begin = Clock::now();
  for (;;) {
    if (!cancellation_->Check().ok()) return Event::kCancelled;
    if (std::exchange(woken_, false) || (for_arrival && !arrived_.empty())) return Event::kReady;
    if ((read_ended_ && (for_arrival || arrived_.empty())) || write_failed_ || given_up_) {
      return Event::kEnded;
    }
    if (for_room && pending_bytes_ < limits_.most_pending_bytes) return Event::kReady;
    // What this side does before it waits is no silence of the other one.
    const Clock::time_point heard = std::max({begin, read_progress_, write_progress_});
    if (!computes && Clock::now() - heard >= limits_.silence) {
      was_silent_ = true;
      return Event::kSilence;
    }
    WaitForChange(&lock, (computes ? Clock::now() : heard) + limits_.silence);
  }
}

void Exchange::Wake() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool Exchange::Close() {
  std::unique_lock<std::mutex> lock(mutex_);
  closing_ = true;
  arrived_.clear();
  arrived_bytes_ = 0;
  lock.unlock();
  ReadOn();
  WriteOn();
  lock.lock();
  const Clock::time_point begin = Clock::now();
  while (!(read_ended_ && write_ended_) && !given_up_) {
    // What still arrives is no reason to stay: it might be endless.
    const auto limit = was_silent_    ? std::min(kLastWord, limits_.farewell)
                       : write_ended_ ? limits_.farewell
                                      : limits_.silence;
    if (!cancellation_->Check().ok()) break;
    const Clock::time_point until = std::max(begin, write_progress_) + limit;
    if (Clock::now() >= until) break;
    WaitForChange(&lock, until);
  }
  const bool ended = read_ended_ && write_ended_ && !write_failed_ && !given_up_;
  lock.unlock();
  if (!ended) GiveUp();
  return ended;
}

void Exchange::GiveUp() {
  bool cancel = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    cancel = !given_up_ && !(read_ended_ && write_ended_);
    given_up_ = true;
  }
  if (cancel) Cancel();
  changed_.notify_all();
}

WireCounts Exchange::counts() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

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
    RETURN_IF_ERROR(cancellation_->Check());
    for (;;) {
      ASSIGN_OR_RETURN(const std::optional<std::string_view> message, reader_.Next());
      *heard = message.has_value();
      if (*heard) return session_->Receive(*message);
      std::string piece;
      if (!exchange_->TakeArrived(&piece)) return absl::OkStatus();
      unanswered_bytes_ = room ? 0 : unanswered_bytes_ + piece.size();
      if (unanswered_bytes_ > limits_.most_unanswered_bytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the other side sent ", unanswered_bytes_, " bytes and took no answer"));
      }
      RETURN_IF_ERROR(reader_.Add(piece));
    }
  }

  absl::Status Say(bool* said) {
    ASSIGN_OR_RETURN(const std::string message, session_->Next());
    *said = !message.empty();
    return *said ? Add(message) : absl::OkStatus();
  }

  absl::Status Add(const std::string& message) {
    if (message.size() > limits_.most_message_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("a message would have ", message.size(),
                                                       " bytes, where ", limits_.most_message_bytes,
                                                       " are allowed: allow more on both sides"));
    }
    // The message, and what the writer makes of it.
    RETURN_IF_ERROR(
        unsent_.Resize(writer_.memory_bytes() + 2 * message.size(), "messages that leave"));
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
      case Exchange::Event::kReady:
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
