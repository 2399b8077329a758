// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/workers.h"

#include <system_error>
#include <utility>

namespace rocksieve::join {

Workers::Workers(size_t threads) {
  try {
    while (threads_.size() < threads) {
      threads_.emplace_back([this](const std::stop_token& end) { Run(end); });
    }
  } catch (const std::system_error&) {  // those that there are do it
  }
}

Workers::~Workers() = default;

void Workers::Add(std::function<void()> work) {
  if (threads_.empty()) return work();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_.push_back(std::move(work));
  }
  added_.notify_one();
}

void Workers::Run(const std::stop_token& end) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (added_.wait(lock, end, [this] { return !work_.empty(); })) {
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace rocksieve::join
