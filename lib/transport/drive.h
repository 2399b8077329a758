// SPDX-License-Identifier: Apache-2.0
// Runs a session over a stream to its end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include <absl/status/status.h>

#include "lib/join/memory_account.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/session.h"
#include "lib/transport/cancellation.h"

namespace rocksieve::join {

// Bytes of gRPC messages.
struct WireCounts {
  uint64_t bytes_sent = 0, bytes_received = 0;
};

// One stream, seen from one end; its kind is a class that derives from this one. Both directions
// work at once, by callbacks: the session between them is never blocked by either, so that two
// sides that both have much to say cannot wait for each other for ever. Both queues are bounded.
//
//   Begin() (TakeArrived() | HasRoom() | Send() | Wait())* Close()
//
// An empty piece stands for the greeting, which only that class knows. Thread-safe.
class Exchange {
 public:
  struct Limits {
    size_t most_arrived_bytes = 4 << 20;  // more is left in the stream, where flow control holds it
    size_t most_pending_bytes = 1 << 20;
    std::chrono::milliseconds silence{120'000};  // neither read nor written while we wait
    std::chrono::milliseconds farewell{5'000};   // until the other side has closed as well
  };
  enum class Event { kReady, kEnded, kSilence, kCancelled };

  Exchange() = default;
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Reads from now on. May be called again, for other limits. The cancellation must outlive it.
  void Begin(const Limits& limits, const Cancellation* cancellation);

  // False if nothing has arrived.
  bool TakeArrived(std::string* piece);
  bool HasRoom();
  void Send(std::string piece);

  // Until what is wanted has come: something has arrived, or there is room; or it never will.
  // `computes`: the other side may well wait for this one, and is not silent.
  Event Wait(bool for_arrival, bool for_room, bool computes = false);
  // Ends a Wait(), the next one if there is none at the moment: kReady.
  void Wake();

  // Writes what is pending, and closes; a side that was silent is not waited for. False if the
  // other side did not take it all and close too: the stream is given up then.
  bool Close();
  // Cancels the stream if it has not ended. Nothing is started any more.
  void GiveUp();

  WireCounts counts();

 protected:
  // What a kind of stream does, one of each at a time. Each ends by a call of OnRead() or
  // OnWritten(), maybe of another thread, maybe before it returns; after Cancel() soon.
  virtual void StartReading() = 0;
  virtual void StartWriting(std::string piece) = 0;
  // Tells the other side that nothing more will be written. Ends by OnWritten().
  virtual void StartClosing() = 0;
  virtual void Cancel() = 0;

  // A frame that is no piece arrives as an empty one.
  void OnRead(bool ok, std::string piece) noexcept;
  void OnWritten(bool ok) noexcept;
  // Nothing is started any more. False if something is still being written then.
  bool Stop(Cancellation::Clock::time_point until);

 private:
  using Clock = Cancellation::Clock;

  void ReadOn();
  void WriteOn();
  // Until something changes, or `until`; no longer than the cancellation allows.
  void WaitForChange(std::unique_lock<std::mutex>* lock, Clock::time_point until);

  const Cancellation* cancellation_ = nullptr;
  Limits limits_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> arrived_, pending_;
  size_t arrived_bytes_ = 0, pending_bytes_ = 0;  // of memory
  size_t written_bytes_ = 0;                      // of pending_bytes_, what is being written
  bool reading_ = false, writing_ = false;        // started, and not yet ended
  bool read_ended_ = false, write_failed_ = false, write_ended_ = false;
  bool closing_ = false, close_sent_ = false, given_up_ = false;
  bool was_silent_ = false;  // the other side, for too long
  bool woken_ = false;
  Clock::time_point read_progress_, write_progress_;
  WireCounts counts_;
};

// What the other side may make this one keep, and how long it may be waited for.
struct DriveLimits {
  uint64_t most_message_bytes = uint64_t{64} << 20;
  // Of a session that always hears: heard since something could last be said, by a side that talks
  // and talks, and takes no answers.
  uint64_t most_unanswered_bytes = uint64_t{256} << 20;
  // Of queues, messages that arrive and messages that leave; null: no limit.
  MemoryAccount* memory = nullptr;
  Exchange::Limits exchange;
};

// The same within an account: a quarter of it for a message, an eighth for each of the queues, all
// of it for what is not answered.
DriveLimits Within(MemoryAccount* memory, DriveLimits limits);
// What a session's queues take of its account for as long as it lasts.
uint64_t QueueBytes(const DriveLimits& limits);

// OK if the session is done and both sides have closed the stream in order. Unavailable if it
// broke; DeadlineExceeded if the other side was silent; what `cancellation` says; else what the
// session says, which the other side is told if it is still there.
absl::Status Drive(Session* session, Exchange* exchange, const Cancellation* cancellation,
                   const DriveLimits& limits, WireCounts* counts);

}  // namespace rocksieve::join
