#include "lib/transport/alarm.h"

#include <algorithm>
#include <utility>

namespace rocksieve::join {
namespace {

constexpr std::chrono::milliseconds kLook(50);  // how long a cancellation may go unnoticed

}  // namespace

Alarm::Alarm(std::chrono::milliseconds after, const Cancellation* cancellation,
             std::function<void()> call) {
  thread_ = std::thread([this, after, cancellation, call = std::move(call)] {
    const auto end = std::chrono::steady_clock::now() + after;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      const auto now = std::chrono::steady_clock::now();
      if (now >= end || (cancellation != nullptr && !cancellation->Check().ok())) break;
      if (changed_.wait_until(lock, std::min(end, now + kLook), [this] { return over_; })) return;
    }
    rang_ = true;
    call();
  });
}

Alarm::~Alarm() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Alarm::rang() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return rang_;
}

}  // namespace rocksieve::join
