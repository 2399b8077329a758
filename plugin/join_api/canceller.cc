#include "plugin/join_api/canceller.h"

namespace rocksieve::join {
namespace {

absl::Status Cancelled() { return absl::CancelledError("the join was cancelled"); }

}  // namespace

void Canceller::Impl::Cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  for (Cancellation* join : joins_) join->Cancel(Cancelled());
}

void Canceller::Impl::Add(Cancellation* join) {
  const std::lock_guard<std::mutex> lock(mutex_);
  joins_.insert(join);
  if (cancelled_) join->Cancel(Cancelled());
}

void Canceller::Impl::Remove(Cancellation* join) {
  const std::lock_guard<std::mutex> lock(mutex_);
  joins_.erase(join);
}

CancellerScope::CancellerScope(Canceller::Impl* canceller, Cancellation* join)
    : canceller_(canceller), join_(join) {
  if (canceller_ != nullptr) canceller_->Add(join_);
}

CancellerScope::~CancellerScope() {
  if (canceller_ != nullptr) canceller_->Remove(join_);
}

Canceller::Canceller() : impl_(std::make_shared<Impl>()) {}
Canceller::~Canceller() = default;
Canceller::Canceller(const Canceller&) = default;
Canceller& Canceller::operator=(const Canceller&) = default;

void Canceller::Cancel() { impl_->Cancel(); }

}  // namespace rocksieve::join
