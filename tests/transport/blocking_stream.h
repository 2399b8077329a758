// A stream that blocks, as an Exchange.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "lib/transport/exchange.h"

namespace rocksieve::join {

// One stream, seen from one end. One thread may read while another writes.
class FrameChannel {
 public:
  virtual ~FrameChannel() = default;
  // Blocks. False when nothing more will come.
  virtual bool Read(std::string* piece) = 0;
  // Blocks as long as the other side takes nothing. False when nothing more can be sent.
  virtual bool Write(const std::string& piece) = 0;
  virtual void CloseWriting() {}
  // Read and Write return false soon, in whatever threads they are.
  virtual void Cancel() = 0;
};

// Each operation has a thread of its own.
class BlockingStream final : public Exchange {
 public:
  explicit BlockingStream(FrameChannel* channel) : channel_(channel) {}
  ~BlockingStream() override {
    GiveUp();
    std::unique_lock<std::mutex> lock(mutex_);
    over_.wait(lock, [this] { return threads_ == 0; });
  }

 private:
  void StartReading() override {
    Start([this] {
      std::string piece;
      const bool ok = channel_->Read(&piece);
      OnRead(ok, std::move(piece));
    });
  }
  void StartWriting(std::string piece) override {
    Start([this, piece = std::move(piece)] { OnWritten(channel_->Write(piece)); });
  }
  void StartClosing() override {
    channel_->CloseWriting();
    OnWritten(true);
  }
  void Cancel() override { channel_->Cancel(); }

  void Start(std::function<void()> operation) {
    const std::lock_guard<std::mutex> lock(mutex_);
    threads_++;
    std::thread([this, operation = std::move(operation)] {
      operation();
      const std::lock_guard<std::mutex> over(mutex_);
      threads_--;
      over_.notify_all();
    }).detach();
  }

  FrameChannel* const channel_;
  std::mutex mutex_;
  std::condition_variable over_;
  int threads_ = 0;
};

}  // namespace rocksieve::join
