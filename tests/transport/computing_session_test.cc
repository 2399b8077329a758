// SPDX-License-Identifier: Apache-2.0
// A session that other threads compute for.
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "lib/join/session/session.h"
#include "lib/transport/drive.h"
#include "tests/transport/memory_stream.h"
#include "tests/transport/support.h"

namespace rocksieve::join {
namespace {

using std::chrono::milliseconds;

// Says one message, when another thread has computed it.
class SlowSession final : public Session {
 public:
  explicit SlowSession(milliseconds time) : time_(time) {}
  absl::Status Receive(std::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<std::string> Next() override {
    if (computes_) return std::string();
    return done_ ? std::string() : (done_ = true, "said");
  }
  bool always_hears() const override { return true; }
  bool done() const override { return done_; }
  bool computes() const override { return computes_; }
  void WhenReady(std::function<void()> ready) override {
    if (!ready) return thread_.join();
    thread_ = std::thread([this, ready] {
      std::this_thread::sleep_for(time_);
      computes_ = false;
      ready();
    });
  }

 private:
  const milliseconds time_;
  std::atomic<bool> computes_ = true;
  bool done_ = false;
  std::thread thread_;
};

// The other side waits for this one: that it says nothing is no fault of it.
TEST(ComputingSession, MayTakeLongerThanSilence) {
  MemoryStream stream;
  SlowSession session(milliseconds(900));
  BlockingStream blocking(stream.end(0));
  const Cancellation cancellation;
  WireCounts counts;
  std::thread other([&stream] {
    std::string piece;
    while (stream.end(1)->Read(&piece)) {
    }
    stream.end(1)->CloseWriting();
  });
  const absl::Status status = Drive(&session, &blocking, &cancellation, ShortLimits(), &counts);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(counts.bytes_sent, 0u);
  other.join();
}

}  // namespace
}  // namespace rocksieve::join
