// Streams of frames of gRPC as FrameChannels: the client's end, and the server's.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include <absl/status/status.h>
#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/sync_stream.h>

#include "join.pb.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/exchange.h"
#include "lib/transport/frame.h"

namespace rocksieve::join {

// Of both sides.
inline constexpr int kMostFrameBytes = static_cast<int>(kMostPieceBytes) + 4096;  // generously
inline constexpr int kKeepaliveMs = 20'000;
inline constexpr int kKeepaliveTimeoutMs = 10'000;

using ServerStream = grpc::ServerReaderWriter<v1::Frame, v1::Frame>;
using ClientStream = grpc::ClientReaderWriter<v1::Frame, v1::Frame>;

// The pieces of a stream that blocks, without their envelope. Stream: ServerStream or ClientStream.
template <typename Stream, typename Context>
class GrpcChannel final : public FrameChannel {
 public:
  GrpcChannel(Stream* stream, Context* context) : stream_(stream), context_(context) {}

  bool Read(std::string* piece) override {
    v1::Frame frame;
    if (!stream_->Read(&frame)) return false;
    piece->swap(*frame.mutable_piece());
    return true;
  }
  bool Write(const std::string& piece) override {
    v1::Frame frame;
    frame.set_piece(piece);
    return stream_->Write(frame);
  }
  void CloseWriting() override {
    if constexpr (std::is_same_v<Stream, ClientStream>) stream_->WritesDone();
  }
  void Cancel() override { context_->TryCancel(); }

 private:
  Stream* const stream_;
  Context* const context_;
};

// The server's end of one call of a session, whose first frame costs no thread to wait for.
//
//   (nothing yet) -> first frame -> Read() and Write(), by threads of the session -> End()
//                 \-> End(): the caller said nothing, or went away
//
// gRPC's callbacks only change its state; whoever is in Read() or Write() waits for that. So a
// session ends at once when it is told to, whatever the caller does. Thread-safe.
class SessionStream final : public grpc::ServerBidiReactor<v1::Frame, v1::Frame>,
                            public FrameChannel,
                            public std::enable_shared_from_this<SessionStream> {
 public:
  // Called once, by a thread of gRPC's that must not be held up, unless End() was called before.
  using OnFirst = std::function<void(std::shared_ptr<SessionStream> stream)>;

  // The deadline is that of the whole session.
  SessionStream(grpc::CallbackServerContext* context, Cancellation::Clock::time_point deadline,
                OnFirst on_first)
      : cancellation_(deadline), context_(context), on_first_(std::move(on_first)) {}

  // Waits for the first frame, and keeps itself alive until gRPC needs it no more. Once.
  void Begin();

  // Told when the caller is gone. Who wants to end the session tells it, too.
  Cancellation* cancellation() { return &cancellation_; }
  grpc::CallbackServerContext* context() { return context_; }
  const v1::Frame& first() const { return in_; }  // until Read()

  // One thread may read while another writes.
  bool Read(std::string* piece) override;
  bool Write(const std::string& piece) override;
  bool WriteFrame(v1::Frame frame);
  void CloseWriting() override {}  // End() does
  void Cancel() override;

  // Nobody is in Read() or Write(), or will be. The first call counts; false if it is not this one.
  bool End(const grpc::Status& status);

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { self_.reset(); }

  enum class Operation { kNone, kRunning, kDone, kFailed };

  Cancellation cancellation_;
  grpc::CallbackServerContext* const context_;
  OnFirst on_first_;
  std::shared_ptr<SessionStream> self_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool greeted_ = false, cancelled_ = false, ended_ = false;
  Operation read_ = Operation::kNone, write_ = Operation::kNone;
  v1::Frame in_, out_;
};

}  // namespace rocksieve::join
