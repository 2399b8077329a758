// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/session_stream.h"

#include <chrono>
#include <utility>

namespace rocksieve::join {
namespace {

constexpr std::chrono::milliseconds kLastFrame(100);  // that is on its way when a session ends

}  // namespace

void SessionStream::Open() {
  self_ = shared_from_this();
  StartRead(&in_);
}

void SessionStream::OnReadDone(bool ok) {
  if (std::exchange(greeted_, true)) return OnRead(ok, TakePiece());
  const std::shared_ptr<SessionStream> self = self_;
  if (ended_) return;
  if (ok) {
    on_first_(self);
  } else {
    End(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away before it had asked"));
  }
}

void SessionStream::OnCancel() {
  cancellation_.Cancel(absl::UnavailableError("the stream broke before the join was done"));
}

void SessionStream::Answer(const v1::Started& started) {
  *out_.mutable_started() = started;
  Send("");
}

bool SessionStream::End(const grpc::Status& status) {
  if (ended_.exchange(true)) return false;
  // The status would wait behind a frame that the other side may never take.
  if (!Stop(Cancellation::Clock::now() + kLastFrame)) {
    context_->TryCancel();
    Stop(Cancellation::Clock::time_point::max());
  }
  Finish(status);
  return true;
}

}  // namespace rocksieve::join
