// SPDX-License-Identifier: Apache-2.0
// Threads that compute for the sessions of a process.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace rocksieve::join {

// Takes work in turn: what is added first is begun first. Thread-safe.
class Workers {
 public:
  // As many threads, or fewer where the system has no more.
  explicit Workers(size_t threads);
  // REQUIRES: all work is done.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Without any thread, the work is done when this returns. It must not throw.
  void Add(std::function<void()> work);

 private:
  void Run(const std::stop_token& end);

  std::mutex mutex_;
  std::condition_variable_any added_;
  std::deque<std::function<void()>> work_;
  std::vector<std::jthread> threads_;  // the last one: they use the others
};

}  // namespace rocksieve::join
