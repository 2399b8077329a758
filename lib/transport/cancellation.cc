// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/cancellation.h"

namespace rocksieve::join {
namespace {

constexpr uint32_t kRowsPerLookAtTheClock = 1024;

class CancellableCursor final : public Cursor {
 public:
  CancellableCursor(std::unique_ptr<Cursor> cursor, const Cancellation* cancellation,
                    const CancellableSource::Tell& tell)
      : cursor_(std::move(cursor)), cancellation_(cancellation), tell_(tell) {}

  bool Next(Row* row) override {
    if (cancellation_->cancelled() || rows_++ % kRowsPerLookAtTheClock == 0) {
      if (status_.ok()) status_ = cancellation_->Check();
    }
    return status_.ok() && cursor_->Next(row);
  }
  absl::Status status() const override {
    if (!status_.ok()) return status_;
    const absl::Status status = cursor_->status();
    return status.ok() || !tell_ ? status : tell_(status);
  }

 private:
  const std::unique_ptr<Cursor> cursor_;
  const Cancellation* const cancellation_;
  const CancellableSource::Tell tell_;
  uint32_t rows_ = 0;
  absl::Status status_;
};

}  // namespace

void Cancellation::Cancel(const absl::Status& reason) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (reason_.ok()) reason_ = reason;
  }
  cancelled_.request_stop();
}

absl::Status Cancellation::Check() const {
  if (cancelled()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return reason_;
  }
  if (Clock::now() >= deadline_) {
    return absl::DeadlineExceededError("the time for the whole join is over: allow more");
  }
  return absl::OkStatus();
}

void WaitForChange(std::condition_variable_any* changed, std::unique_lock<std::mutex>* lock,
                   Cancellation::Clock::time_point until, const std::stop_token& end) {
  bool woken = false;
  changed->wait_until(*lock, end, until, [&woken] { return std::exchange(woken, true); });
}

void SleepUntil(Cancellation::Clock::time_point until, const std::stop_token& end) {
  std::mutex mutex;
  std::unique_lock<std::mutex> lock(mutex);
  std::condition_variable_any never;
  never.wait_until(lock, end, until, [] { return false; });
}

std::unique_ptr<Cursor> CancellableSource::Scan(const KeyInterval& interval) {
  return Cancellable(source_->Scan(interval));
}

std::unique_ptr<Cursor> CancellableSource::ScanAbsent() {
  std::unique_ptr<Cursor> cursor = source_->ScanAbsent();
  return cursor == nullptr ? nullptr : Cancellable(std::move(cursor));
}

std::unique_ptr<Cursor> CancellableSource::Cancellable(std::unique_ptr<Cursor> cursor) const {
  std::unique_ptr<Cursor>* all_rows = &cursor;
  while ((*all_rows)->from() != nullptr) all_rows = (*all_rows)->from();
  *all_rows = std::make_unique<CancellableCursor>(std::move(*all_rows), cancellation_, tell_);
  return cursor;
}

}  // namespace rocksieve::join
