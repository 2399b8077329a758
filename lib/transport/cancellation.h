// Ends work of other threads: at once, or at a deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

#include <absl/status/status.h>

namespace rocksieve::join {

// Thread-safe.
class Cancellation {
 public:
  using Clock = std::chrono::steady_clock;

  // DeadlineExceeded from then on.
  explicit Cancellation(Clock::time_point deadline = Clock::time_point::max())
      : deadline_(deadline) {}
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // The first reason is kept. REQUIRES: !reason.ok()
  void Cancel(const absl::Status& reason);

  // OK while work may go on. Some 30 ns, for the clock.
  absl::Status Check() const;
  // Without the clock: some ns.
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  Clock::time_point deadline() const { return deadline_; }

 private:
  const Clock::time_point deadline_;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  absl::Status reason_;
};

}  // namespace rocksieve::join
