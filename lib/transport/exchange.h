// Both directions of a stream at once: one thread reads, one writes, and the session between them
// is never blocked by either, so that two sides that both have much to say cannot wait for each
// other for ever. Both queues are bounded.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "lib/transport/cancellation.h"

namespace rocksieve::join {

// One stream, seen from one end. One thread may read while another writes.
class FrameChannel {
 public:
  virtual ~FrameChannel() = default;
  // Blocks. False when nothing more will come. A frame that is no piece arrives as an empty one.
  virtual bool Read(std::string* piece) = 0;
  // Blocks as long as the other side takes nothing. False when nothing more can be sent.
  virtual bool Write(const std::string& piece) = 0;
  // Tells the other side that nothing more will be written.
  virtual void CloseWriting() = 0;
  // Read and Write return false soon, in whatever threads they are.
  virtual void Cancel() = 0;
};

// Bytes of gRPC messages.
struct WireCounts {
  uint64_t bytes_sent = 0, bytes_received = 0;
  uint64_t frames_sent = 0, frames_received = 0;
};

class Exchange {
 public:
  struct Limits {
    size_t most_arrived_bytes = 4 << 20;  // more is left in the stream, where flow control holds it
    size_t most_pending_bytes = 1 << 20;
    std::chrono::milliseconds silence{120'000};  // neither read nor written while we wait
    std::chrono::milliseconds farewell{5'000};   // until the other side has closed as well
  };
  enum class Event { kArrived, kRoom, kEnded, kSilence, kCancelled };

  // The pointers must outlive it.
  Exchange(FrameChannel* channel, const Cancellation* cancellation, const Limits& limits);
  // Gives the stream up if it has not ended.
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // False if nothing has arrived.
  bool TakeArrived(std::string* piece);
  bool HasRoom();
  void Send(std::string piece);

  // Until what is wanted has come: something has arrived, or there is room; or it never will.
  Event Wait(bool for_arrival, bool for_room);

  // Writes what is pending, and closes; a side that was silent is not waited for. False if the
  // other side did not take it all and close too.
  bool Finish();

  WireCounts counts();

 private:
  using Clock = std::chrono::steady_clock;

  void Run(void (Exchange::*work)(), bool* ended);
  void ReadAll();
  void WriteAll();
  void GiveUp();
  // Until something changes, or `until`; no longer than the cancellation allows.
  void WaitForChange(std::unique_lock<std::mutex>* lock, Clock::time_point until);

  FrameChannel* const channel_;
  const Cancellation* const cancellation_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> arrived_, pending_;
  size_t arrived_bytes_ = 0, pending_bytes_ = 0;
  bool read_ended_ = false, write_failed_ = false, write_ended_ = false;
  bool closing_ = false, given_up_ = false;
  bool was_silent_ = false;  // the other side, for too long
  Clock::time_point read_progress_, write_progress_;
  WireCounts counts_;
  std::thread reader_, writer_;
};

}  // namespace rocksieve::join
