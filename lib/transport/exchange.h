// SPDX-License-Identifier: Apache-2.0
// Both directions of a stream at once, by callbacks: the session between them is never blocked by
// either, so that two sides that both have much to say cannot wait for each other for ever. Both
// queues are bounded.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "lib/transport/cancellation.h"

namespace rocksieve::join {

// Bytes of gRPC messages.
struct WireCounts {
  uint64_t bytes_sent = 0, bytes_received = 0;
  uint64_t frames_sent = 0, frames_received = 0;
};

// One stream, seen from one end; its kind is a class that derives from this one.
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
  enum class Event { kArrived, kRoom, kWoken, kEnded, kSilence, kCancelled };

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
  // Ends a Wait(), the next one if there is none at the moment: kWoken.
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

}  // namespace rocksieve::join
