// SPDX-License-Identifier: Apache-2.0
// A stream within a process, for sides that block.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "lib/transport/drive.h"
#include "tests/transport/support.h"

namespace rocksieve::join {

// Both ends of a stream that holds few pieces, as flow control does.
class MemoryStream {
 public:
  class End final : public FrameChannel {
   public:
    End(MemoryStream* stream, int side) : stream_(stream), side_(side) {}
    bool Read(std::string* piece) override { return stream_->Read(side_, piece); }
    bool Write(const std::string& piece) override { return stream_->Write(side_, piece); }
    void CloseWriting() override { stream_->Close(side_); }
    void Cancel() override { stream_->Break(); }

   private:
    MemoryStream* const stream_;
    const int side_;
  };

  End* end(int side) { return side == 0 ? &ends_[0] : &ends_[1]; }

  bool Read(int side, std::string* piece) {
    std::unique_lock<std::mutex> lock(mutex_);
    auto& queue = queues_[1 - side];
    changed_.wait(lock, [&] { return broken_ || !queue.empty() || closed_[1 - side]; });
    if (broken_ || queue.empty()) return false;
    *piece = std::move(queue.front());
    queue.pop_front();
    changed_.notify_all();
    return true;
  }
  bool Write(int side, const std::string& piece) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return broken_ || queues_[side].size() < 2; });
    if (broken_) return false;
    queues_[side].push_back(piece);
    changed_.notify_all();
    return true;
  }
  void Close(int side) {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_[side] = true;
    changed_.notify_all();
  }
  void Break() {
    const std::lock_guard<std::mutex> lock(mutex_);
    broken_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> queues_[2];
  bool closed_[2] = {false, false};
  bool broken_ = false;
  End ends_[2] = {End(this, 0), End(this, 1)};
};

inline DriveLimits ShortLimits() {
  DriveLimits limits;
  limits.exchange.silence = std::chrono::milliseconds(300);
  limits.exchange.farewell = std::chrono::milliseconds(300);
  return limits;
}

}  // namespace rocksieve::join
