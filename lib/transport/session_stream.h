// SPDX-License-Identifier: Apache-2.0
// Streams of gRPC as Exchanges: what both ends have, and the server's.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "join.pb.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/drive.h"
#include "lib/transport/frame.h"

namespace rocksieve::join {

// Of both sides.
inline constexpr int kMostFrameBytes = static_cast<int>(kMostPieceBytes) + 4096;  // generously
inline constexpr int kKeepaliveMs = 20'000;
inline constexpr int kKeepaliveTimeoutMs = 10'000;

// Frames as pieces. Reactor: gRPC's, of either end.
template <typename Reactor>
class FrameStream : public Reactor, public Exchange {
 protected:
  void StartReading() override {
    in_.Clear();
    this->StartRead(&in_);
  }
  void StartWriting(std::string piece) override {
    if (!piece.empty()) out_.set_piece(std::move(piece));  // else it is a greeting
    this->StartWrite(&out_);
  }
  void OnWriteDone(bool ok) override { OnWritten(ok); }
  std::string TakePiece() {
    return in_.has_piece() ? std::move(*in_.mutable_piece()) : std::string();
  }

  v1::Frame in_, out_;
};

// The server's end of one call of a session, which costs no thread to wait for.
//
//   (nothing yet) -> first frame -> Answer(), and as an Exchange says -> End()
//                 \-> End(): the caller said nothing, or went away
//
// Thread-safe.
class SessionStream final : public FrameStream<grpc::ServerBidiReactor<v1::Frame, v1::Frame>>,
                            public std::enable_shared_from_this<SessionStream> {
 public:
  // Called once, by a thread of gRPC's that must not be held up, unless End() was called before.
  using OnFirst = std::function<void(std::shared_ptr<SessionStream> stream)>;

  // The deadline is that of the whole session.
  SessionStream(grpc::CallbackServerContext* context, Cancellation::Clock::time_point deadline,
                OnFirst on_first)
      : cancellation_(deadline), context_(context), on_first_(std::move(on_first)) {}

  // Waits for the first frame, and keeps itself alive until gRPC needs it no more. Once.
  void Open();

  // Told when the caller is gone. Who wants to end the session tells it, too.
  Cancellation* cancellation() { return &cancellation_; }
  grpc::CallbackServerContext* context() { return context_; }
  const v1::Frame& first() const { return in_; }  // until Begin()

  // The answer to the first frame. Once, before anything is sent.
  void Answer(const v1::Started& started);

  // Nobody uses the exchange any more. The first call counts; false if it is not this one.
  bool End(const grpc::Status& status);

 private:
  void StartClosing() override { OnWritten(true); }  // End() does
  void Cancel() override {}                          // likewise

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { self_.reset(); }

  Cancellation cancellation_;
  grpc::CallbackServerContext* const context_;
  OnFirst on_first_;
  std::shared_ptr<SessionStream> self_;
  std::atomic<bool> ended_ = false;
  bool greeted_ = false;
};

}  // namespace rocksieve::join
