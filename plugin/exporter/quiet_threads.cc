// SPDX-License-Identifier: Apache-2.0
#include "plugin/exporter/quiet_threads.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace rocksieve {
namespace {

constexpr std::chrono::seconds kLongestWait(1);

std::mutex one_guard;
std::mutex mutex;  // guards what follows
std::condition_variable begun_changed;
int begun = 0;
struct sigaction before;

}  // namespace

SigpipeGuard::SigpipeGuard() {
  one_guard.lock();
  const std::lock_guard<std::mutex> lock(mutex);
  begun = 0;
  sigaction(SIGPIPE, nullptr, &before);
}

SigpipeGuard::~SigpipeGuard() {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    sigaction(SIGPIPE, &before, nullptr);
  }
  one_guard.unlock();
}

void SigpipeGuard::WaitForThreads(int threads) {
  std::unique_lock<std::mutex> lock(mutex);
  begun_changed.wait_for(lock, kLongestWait, [&] { return begun >= threads; });
}

void SigpipeGuard::ThreadHasBegun() {
  const std::lock_guard<std::mutex> lock(mutex);
  begun++;
  sigaction(SIGPIPE, &before, nullptr);
  begun_changed.notify_all();
}

}  // namespace rocksieve
