// SPDX-License-Identifier: Apache-2.0
// Ends work of other threads: at once, or at a deadline.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include <absl/status/status.h>

#include "lib/join/rows/source.h"

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

  // The first reason is kept. Calls back whoever waits with the token. REQUIRES: !reason.ok()
  void Cancel(const absl::Status& reason);

  // OK while work may go on. Some 30 ns, for the clock.
  absl::Status Check() const;
  // Without the clock: some ns.
  bool cancelled() const { return cancelled_.stop_requested(); }
  // For waiting: told of Cancel(), and not of the deadline.
  std::stop_token token() const { return cancelled_.get_token(); }
  Clock::time_point deadline() const { return deadline_; }

 private:
  const Clock::time_point deadline_;
  std::stop_source cancelled_;
  mutable std::mutex mutex_;
  absl::Status reason_;
};

// Waits until something may have changed, `until`, or `end` is told to stop.
void WaitForChange(std::condition_variable_any* changed, std::unique_lock<std::mutex>* lock,
                   Cancellation::Clock::time_point until, const std::stop_token& end);
// Waits until then, or `end` is told to stop.
void SleepUntil(Cancellation::Clock::time_point until, const std::stop_token& end);

// A source whose scans end with an error when the work is cancelled, also while they pass over rows
// that they do not give.
class CancellableSource final : public Source {
 public:
  // What is told of an error of the source.
  using Tell = std::function<absl::Status(const absl::Status& status)>;

  // Both must outlive it and its cursors. `tell` may be empty.
  CancellableSource(Source* source, const Cancellation* cancellation, Tell tell = nullptr)
      : source_(source), cancellation_(cancellation), tell_(std::move(tell)) {}

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  std::unique_ptr<Cursor> ScanAbsent() override;
  uint64_t EstimateKeys() override { return source_->EstimateKeys(); }
  std::unique_ptr<ExistingFilterReader> ExistingFilters(const KeyInterval& interval) override {
    return source_->ExistingFilters(interval);
  }

 private:
  std::unique_ptr<Cursor> Cancellable(std::unique_ptr<Cursor> cursor) const;

  Source* const source_;
  const Cancellation* const cancellation_;
  const Tell tell_;
};

}  // namespace rocksieve::join
