#include "lib/transport/waiting_calls.h"

#include <algorithm>
#include <utility>

namespace rocksieve::join {
namespace {

void Refuse(SessionStream* stream, const char* why) {
  stream->End(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, why));
}

}  // namespace

WaitingCalls::WaitingCalls(size_t most, std::chrono::milliseconds patience)
    : most_(most), patience_(patience), thread_([this] { EndLate(); }) {}

WaitingCalls::~WaitingCalls() {
  std::list<Call> left;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    left.swap(calls_);
  }
  changed_.notify_all();
  thread_.join();
  for (const Call& call : left) Refuse(call.stream.get(), "the server ends");
}

void WaitingCalls::Add(std::shared_ptr<SessionStream> stream) {
  std::list<Call> added, oldest;
  added.push_back({std::move(stream), Clock::now() + patience_});
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    calls_.splice(calls_.end(), added);
    if (calls_.size() > most_) oldest.splice(oldest.end(), calls_, calls_.begin());
  }
  changed_.notify_all();
  for (const Call& call : oldest) {
    Refuse(call.stream.get(), "too many calls that say nothing: begin with a frame");
  }
}

void WaitingCalls::Remove(const SessionStream* stream) {
  std::list<Call> removed;  // destroyed after the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(calls_.begin(), calls_.end(), [stream](const Call& call) {
    return call.stream.get() == stream;
  });
  if (found != calls_.end()) removed.splice(removed.end(), calls_, found);
}

void WaitingCalls::EndLate() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_) {
    if (calls_.empty()) {
      changed_.wait(lock);
    } else if (calls_.front().until > Clock::now()) {
      const Clock::time_point until = calls_.front().until;
      changed_.wait_until(lock, until);
    } else {
      std::list<Call> late;
      late.splice(late.end(), calls_, calls_.begin());
      lock.unlock();
      Refuse(late.front().stream.get(), "no first frame in time");
      late.clear();
      lock.lock();
    }
  }
}

}  // namespace rocksieve::join
