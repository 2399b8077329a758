// SPDX-License-Identifier: Apache-2.0
// Messages in frames, and sessions over channels in memory: with each other, and with sides that do
// not keep the rules.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "lib/join/join_key/join_key_source.h"
#include "lib/join/memory_account.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/server_session.h"
#include "lib/join/session/session.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/drive.h"
#include "lib/transport/frame.h"
#include "tests/join/in_memory.h"

namespace rocksieve::join {
namespace {

// A stream within a process, for sides that block. It holds few pieces, as flow control does.
class MemoryStream {
 public:
  // One thread may read while another writes.
  struct End {
    bool Read(std::string* piece) const { return stream->Read(side, piece); }
    bool Write(const std::string& piece) const { return stream->Write(side, piece); }
    void CloseWriting() const {
      stream->Change([this] { stream->closed_[side] = true; });
    }
    MemoryStream* stream;
    int side;
  };

  End end(int side) { return {this, side}; }
  void Break() {
    Change([this] { broken_ = true; });
  }

 private:
  void Change(const std::function<void()>& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change();
    changed_.notify_all();
  }
  // False when nothing more will come.
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
  // False when nothing more can be sent.
  bool Write(int side, const std::string& piece) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return broken_ || queues_[side].size() < 2; });
    if (broken_) return false;
    queues_[side].push_back(piece);
    changed_.notify_all();
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> queues_[2];
  bool closed_[2] = {false, false};
  bool broken_ = false;
};

// Each operation has a thread of its own.
class BlockingStream final : public Exchange {
 public:
  explicit BlockingStream(MemoryStream::End end) : end_(end) {}
  ~BlockingStream() override {
    GiveUp();
    std::unique_lock<std::mutex> lock(mutex_);
    over_.wait(lock, [this] { return threads_ == 0; });
  }

 private:
  void StartReading() override {
    Start([this] {
      std::string piece;
      const bool ok = end_.Read(&piece);
      OnRead(ok, std::move(piece));
    });
  }
  void StartWriting(std::string piece) override {
    Start([this, piece = std::move(piece)] { OnWritten(end_.Write(piece)); });
  }
  void StartClosing() override {
    end_.CloseWriting();
    OnWritten(true);
  }
  void Cancel() override { end_.stream->Break(); }

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

  const MemoryStream::End end_;
  std::mutex mutex_;
  std::condition_variable over_;
  int threads_ = 0;
};

DriveLimits ShortLimits() {
  DriveLimits limits;
  limits.exchange.silence = std::chrono::milliseconds(300);
  limits.exchange.farewell = std::chrono::milliseconds(300);
  return limits;
}

using std::chrono::milliseconds;

MemorySource Numbers(int begin, int end, size_t value_bytes) {
  MemorySource::Rows rows;
  for (int i = begin; i < end; i++) {
    rows.push_back({std::to_string(i), std::string(value_bytes, 'v')});
  }
  return MemorySource(std::move(rows));
}

TEST(Drive, JoinsOverAStreamThatHoldsLittle) {
  MemorySource client_rows = Numbers(0, 10000, 1), server_rows = Numbers(5000, 25000, 300);
  const uint64_t expected[] = {0, 5000, 15000, 5000, 20000, 0};
  for (const Operation operation : kAllOperations) {
    MemoryStream stream;
    const Cancellation never;
    WireCounts counts[2];
    std::thread other([&] {
      ServerSession session(&server_rows, {});
      BlockingStream end(stream.end(1));
      EXPECT_TRUE(Drive(&session, &end, &never, {}, &counts[1]).ok());
    });
    CountingSink sink;
    ClientSessionOptions options;
    options.operation = operation;
    options.keys_per_range = 1000;
    ClientSession session(&client_rows, &sink, options);
    BlockingStream end(stream.end(0));
    EXPECT_TRUE(Drive(&session, &end, &never, {}, &counts[0]).ok());
    other.join();
    EXPECT_EQ(sink.rows, expected[static_cast<int>(operation)]) << NameOf(operation);
    EXPECT_EQ(counts[0].bytes_sent, counts[1].bytes_received);
    EXPECT_EQ(counts[1].bytes_sent, counts[0].bytes_received);
  }
}

// What one side does with a stream while the other one drives a session.
absl::Status AgainstHostile(const std::function<void(const MemoryStream::End&)>& hostile,
                            const DriveLimits& limits = ShortLimits(),
                            const Cancellation& cancellation = Cancellation()) {
  MemoryStream stream;
  MemorySource rows = Numbers(0, 1000, 10);
  ServerSession session(&rows, {});
  std::thread other([&] { hostile(stream.end(0)); });
  WireCounts counts;
  const auto begin = std::chrono::steady_clock::now();
  BlockingStream end(stream.end(1));
  const absl::Status status = Drive(&session, &end, &cancellation, limits, &counts);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  stream.Break();
  other.join();
  return status;
}

TEST(Drive, EndsWhateverTheOtherSideDoes) {
  using End = MemoryStream::End;
  const auto nothing = [](const End&) {};
  const auto fill = [](const End& end, const std::string& piece) {
    while (end.Write(piece)) {
    }
  };
  DriveLimits no_farewell = ShortLimits(), small = ShortLimits();
  no_farewell.exchange.farewell = std::chrono::hours(1);  // who is silent is not waited for again
  small.most_message_bytes = 1 << 20;
  FrameWriter writer;
  writer.Add(std::string(2 << 20, 'x'));
  const std::string endless = writer.TakePiece();
  EXPECT_TRUE(absl::IsDeadlineExceeded(AgainstHostile(nothing, no_farewell)));
  EXPECT_TRUE(absl::IsInvalidArgument(AgainstHostile([&](const End& end) { fill(end, ""); })));
  EXPECT_TRUE(absl::IsResourceExhausted(
      AgainstHostile([&](const End& end) { fill(end, endless); }, small)));
  EXPECT_TRUE(absl::IsUnavailable(AgainstHostile([](const End& end) { end.CloseWriting(); })));
  Cancellation cancelled;
  cancelled.Cancel(absl::CancelledError("Ctrl-C"));
  EXPECT_TRUE(absl::IsCancelled(AgainstHostile(nothing, {}, cancelled)));
  const Cancellation late(Cancellation::Clock::now() + milliseconds(100));
  EXPECT_TRUE(absl::IsDeadlineExceeded(AgainstHostile(nothing, {}, late)));
}

TEST(Drive, TinyFramesTakeNoMoreMemoryThanLargeOnes) {
  MemoryStream stream;
  const Cancellation never;
  Exchange::Limits limits;
  limits.most_arrived_bytes = 64 << 10;
  const size_t most_pieces = limits.most_arrived_bytes / sizeof(std::string);
  std::atomic<size_t> taken = 0;
  std::thread other([&] {
    while (stream.end(0).Write("x")) taken++;
  });
  BlockingStream exchange(stream.end(1));
  exchange.Begin(limits, &never);
  while (taken < most_pieces / 2) std::this_thread::yield();
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LE(taken, most_pieces + 3);  // of which some wait in the stream
  stream.Break();
  other.join();
}

TEST(Drive, EndsWhenItIsCancelledWhileItWaits) {
  Cancellation cancellation;
  const absl::Status status = AgainstHostile(
      [&](const MemoryStream::End& end) {
        FrameWriter writer;
        writer.Add(Encode(Hello()));
        end.Write(writer.TakePiece());
        std::string piece;
        end.Read(&piece);  // its answer: now it waits for two minutes
        cancellation.Cancel(absl::CancelledError("Ctrl-C"));
      },
      {}, cancellation);
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

TEST(CancellableSource, ScansEnd) {
  MemorySource rows = Numbers(0, 10000, 10);
  Cancellation cancellation;
  CancellableSource source(&rows, &cancellation);
  const std::unique_ptr<Cursor> cursor = source.Scan({});
  Row row;
  ASSERT_TRUE(cursor->Next(&row));
  cancellation.Cancel(absl::CancelledError("enough"));
  EXPECT_FALSE(cursor->Next(&row));
  EXPECT_TRUE(absl::IsCancelled(cursor->status()));

  // Also while it passes over rows that are not given.
  KeyPrefixSource none(std::make_unique<MemorySource>(Numbers(0, 300'000, 10)), 1000);
  const Cancellation soon(Cancellation::Clock::now() + std::chrono::microseconds(100));
  CancellableSource passing(&none, &soon);
  const std::unique_ptr<Cursor> nothing = passing.Scan({});
  EXPECT_FALSE(nothing->Next(&row));
  EXPECT_TRUE(absl::IsDeadlineExceeded(nothing->status()));
}

constexpr uint64_t kMostMessageBytes = 1 << 20;

std::string Written(const std::vector<std::string>& messages) {
  FrameWriter writer;
  std::string bytes;
  for (const std::string& message : messages) writer.Add(message);
  while (writer.pending_bytes() > 0) {
    const std::string piece = writer.TakePiece();
    EXPECT_LE(piece.size(), kMostPieceBytes);
    EXPECT_FALSE(piece.empty());
    bytes += piece;
  }
  return bytes;
}

struct Heard {
  absl::Status status;
  std::vector<std::string> messages;
};

Heard Hear(const std::string& bytes, const std::function<size_t()>& piece_bytes,
           MemoryAccount* memory = nullptr) {
  FrameReader reader(kMostMessageBytes, memory);
  Heard heard;
  for (size_t at = 0; at < bytes.size() && heard.status.ok();) {
    const std::string piece = bytes.substr(at, piece_bytes());
    at += piece.size();
    heard.status = reader.Add(piece);
    while (heard.status.ok()) {
      const absl::StatusOr<std::optional<std::string_view>> message = reader.Next();
      heard.status = message.status();
      if (!message.ok() || !message->has_value()) break;
      heard.messages.emplace_back(**message);
    }
  }
  return heard;
}

TEST(Frame, MessagesArriveWhereverFramesEnd) {
  const auto seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  std::mt19937 random(seed);
  for (const size_t longest : {1, 127, 128, 16384, 700000}) {
    std::vector<std::string> messages;
    for (int i = 0; i < 20; i++) {
      messages.emplace_back(1 + random() % longest, static_cast<char>('a' + i));
    }
    const std::string bytes = Written(messages);
    const Heard heard =
        Hear(bytes, [&] { return 1 + random() % std::min(longest + 3, kMostPieceBytes); });
    ASSERT_TRUE(heard.status.ok()) << heard.status << " seed " << seed;
    EXPECT_EQ(heard.messages, messages) << "seed " << seed;
  }
}

TEST(Frame, RefusesEmptyAndOversizedPieces) {
  FrameReader reader(kMostMessageBytes);
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Add("")));
  EXPECT_TRUE(absl::IsInvalidArgument(reader.Add(std::string(kMostPieceBytes + 1, 'x'))));
}

TEST(Frame, RefusesMessagesOverTheLimitBeforeTheyArrive) {
  const std::string bytes = Written({std::string(kMostMessageBytes + 1, 'x')});
  const Heard heard = Hear(bytes.substr(0, 5), [] { return 5; });
  EXPECT_TRUE(absl::IsResourceExhausted(heard.status)) << heard.status;
  EXPECT_TRUE(
      Hear(Written({std::string(kMostMessageBytes, 'x')}), [] { return 9999; }).status.ok());
}

TEST(Frame, KeepsWhatArrivesInTheAccountOfItsMemory) {
  const std::string bytes = Written({std::string(kMostMessageBytes, 'x')});
  for (const uint64_t limit : {2 * kMostMessageBytes + kMostPieceBytes, kMostMessageBytes / 4}) {
    MemoryAccount memory(limit);
    const absl::Status status = Hear(
                                    bytes, [] { return kMostPieceBytes; }, &memory)
                                    .status;
    EXPECT_EQ(status.code(), limit > kMostMessageBytes ? absl::StatusCode::kOk
                                                       : absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(memory.used_bytes(), 0);
  }
}

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
    while (stream.end(1).Read(&piece)) {
    }
    stream.end(1).CloseWriting();
  });
  const absl::Status status = Drive(&session, &blocking, &cancellation, ShortLimits(), &counts);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GT(counts.bytes_sent, 0u);
  other.join();
}

}  // namespace
}  // namespace rocksieve::join
