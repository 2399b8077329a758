// SPDX-License-Identifier: Apache-2.0
// What the tests of the transport share: rows, sinks, and streams that block.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <absl/status/status.h>

#include "lib/transport/client.h"
#include "lib/transport/drive.h"
#include "tests/join/memory_source.h"

namespace rocksieve::join {

inline MemorySource::Rows Numbers(int begin, int end) {
  MemorySource::Rows rows;
  for (int i = begin; i < end; i++) {
    rows.push_back({std::to_string(1'000'000 + i), "v" + std::to_string(i)});
  }
  return rows;
}

// Counts the rows of a result since it last began anew.
class CountingResults final : public ResultSink {
 public:
  absl::Status Add(const Row&, Side) override { return rows++, absl::OkStatus(); }
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Discard() override { return absl::OkStatus(); }
  absl::Status Restart() override { return rows = 0, absl::OkStatus(); }
  uint64_t rows = 0;
};

// The rows that were committed since it last began anew.
class MapSink final : public ResultSink {
 public:
  absl::Status Add(const Row& row, Side) override {
    pending_.emplace_back(row.key, row.value);
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    for (auto& row : pending_) twice += rows.insert(row).second ? 0 : 1;
    pending_.clear();
    if (on_commit) on_commit();
    return absl::OkStatus();
  }
  absl::Status Discard() override { return pending_.clear(), absl::OkStatus(); }
  absl::Status Restart() override { return pending_.clear(), rows.clear(), absl::OkStatus(); }

  std::map<std::string, std::string> rows;
  int twice = 0;  // keys that were given more than once
  std::function<void()> on_commit;

 private:
  MemorySource::Rows pending_;
};

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
