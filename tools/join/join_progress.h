// SPDX-License-Identifier: Apache-2.0
// How far a join is, on stderr: a line that changes, on a terminal and once it has taken two
// seconds; or one line after another, if they are wanted in any case.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include <rocksieve/join/join.h>

#include "support/progress.h"

namespace rocksieve::tools {

// Thread-safe.
class JoinProgress {
 public:
  // `command`: "rocksieve join"; `doing`: "joining"; `at_the_end`: what goes on when all keys are
  // done, and may be empty.
  JoinProgress(std::string command, std::string doing, std::string at_the_end, bool always);

  // So many more keys of this side will be joined, about.
  void Expect(uint64_t keys);
  void RangeDone(const join::RangeSummary& range);
  // A line that stays.
  void Note(const std::string& note);

 private:
  using Clock = std::chrono::steady_clock;

  void Run(const std::stop_token& over);
  // REQUIRES: mutex_ is held.
  std::string Text() const;

  const std::string command_, doing_, at_the_end_;
  const bool always_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  uint64_t expected_keys_ = 0, keys_ = 0, ranges_ = 0, bytes_ = 0;
  Progress line_;
  std::condition_variable_any end_;
  std::jthread thread_;  // the last one: it uses the others
};

}  // namespace rocksieve::tools
