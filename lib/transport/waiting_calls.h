// Calls whose callers have not said anything yet. They cost no thread, are few, and end after a
// while: whoever means to join speaks at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "lib/transport/session_stream.h"

namespace rocksieve::join {

// Thread-safe.
class WaitingCalls {
 public:
  // Beyond `most`, the call that has waited longest is ended.
  WaitingCalls(size_t most, std::chrono::milliseconds patience);
  // Ends them all.
  ~WaitingCalls();
  WaitingCalls(const WaitingCalls&) = delete;
  WaitingCalls& operator=(const WaitingCalls&) = delete;

  void Add(std::shared_ptr<SessionStream> stream);
  // It has spoken, or has ended.
  void Remove(const SessionStream* stream);

 private:
  using Clock = std::chrono::steady_clock;
  struct Call {
    std::shared_ptr<SessionStream> stream;
    Clock::time_point until;
  };

  void EndLate();

  const size_t most_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Call> calls_;  // the oldest first
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace rocksieve::join
