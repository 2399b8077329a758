#include "lib/transport/session_stream.h"

#include <chrono>
#include <utility>

namespace rocksieve::join {
namespace {

constexpr std::chrono::milliseconds kLastFrame(100);  // that is on its way when a session ends

}  // namespace

// No lock is held while gRPC is called: it may call back before it returns.

void SessionStream::Begin() {
  self_ = shared_from_this();
  StartRead(&in_);
}

void SessionStream::OnReadDone(bool ok) {
  const std::shared_ptr<SessionStream> self = self_;
  bool first = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_) return;
    first = !std::exchange(greeted_, true);
    if (!first) read_ = ok ? Operation::kDone : Operation::kFailed;
  }
  if (!first) {
    changed_.notify_all();
  } else if (ok) {
    on_first_(self);
  } else {
    End(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away before it had asked"));
  }
}

void SessionStream::OnWriteDone(bool ok) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    write_ = ok ? Operation::kDone : Operation::kFailed;
  }
  changed_.notify_all();
}

void SessionStream::OnCancel() {
  cancellation_.Cancel(absl::UnavailableError("the stream broke before the join was done"));
  Cancel();
}

void SessionStream::Cancel() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
  }
  changed_.notify_all();
}

bool SessionStream::Read(std::string* piece) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (cancelled_ || read_ == Operation::kFailed) return false;
    read_ = Operation::kRunning;
  }
  in_.Clear();
  StartRead(&in_);
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return cancelled_ || read_ != Operation::kRunning; });
  if (cancelled_ || read_ == Operation::kFailed) return false;
  piece->swap(*in_.mutable_piece());
  return true;
}

bool SessionStream::Write(const std::string& piece) {
  v1::Frame frame;
  frame.set_piece(piece);
  return WriteFrame(std::move(frame));
}

bool SessionStream::WriteFrame(v1::Frame frame) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (cancelled_ || write_ == Operation::kFailed) return false;
    write_ = Operation::kRunning;
  }
  out_ = std::move(frame);
  StartWrite(&out_);
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return cancelled_ || write_ != Operation::kRunning; });
  return write_ == Operation::kDone;
}

bool SessionStream::End(const grpc::Status& status) {
  bool stuck = false;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (std::exchange(ended_, true)) return false;
    stuck = !changed_.wait_for(lock, kLastFrame, [this] { return write_ != Operation::kRunning; });
  }
  // The status would wait behind a frame that the other side may never take.
  if (stuck) context_->TryCancel();
  Finish(status);
  return true;
}

}  // namespace rocksieve::join
