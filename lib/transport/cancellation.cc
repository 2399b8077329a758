#include "lib/transport/cancellation.h"

namespace rocksieve::join {

void Cancellation::Cancel(const absl::Status& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (reason_.ok()) reason_ = reason;
  cancelled_.store(true, std::memory_order_release);
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

}  // namespace rocksieve::join
