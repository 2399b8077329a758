// SPDX-License-Identifier: Apache-2.0
#include "tools/join/join_progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

constexpr std::chrono::seconds kFirst(2), kLineEvery(2);
constexpr std::chrono::milliseconds kDrawEvery(200);

}  // namespace

JoinProgress::JoinProgress(std::string command, std::string doing, std::string at_the_end,
                           bool always)
    : command_(std::move(command)),
      doing_(std::move(doing)),
      at_the_end_(std::move(at_the_end)),
      always_(always),
      line_(command_),
      thread_([this](const std::stop_token& over) { Run(over); }) {}

void JoinProgress::Expect(uint64_t keys) {
  const std::lock_guard<std::mutex> lock(mutex_);
  expected_keys_ += keys;
}

void JoinProgress::RangeDone(const join::RangeSummary& range) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ranges_++;
  keys_ += range.local_keys;
  bytes_ += range.sent.total() + range.received.total();
}

void JoinProgress::Note(const std::string& note) {
  const std::lock_guard<std::mutex> lock(mutex_);
  line_.Clear();
  std::cerr << command_ << ": " + note + "\n";
}

std::string JoinProgress::Text() const {
  if (expected_keys_ == 0 && ranges_ == 0) return "reading this side";
  if (keys_ >= expected_keys_ && !at_the_end_.empty()) return at_the_end_;
  std::string text = Thousands(ranges_) + " ranges, " + Thousands(keys_) + " of about " +
                     Thousands(std::max(keys_, expected_keys_)) + " keys, " + Thousands(bytes_) +
                     " bytes";
  if (keys_ > 0 && keys_ < expected_keys_) {
    const std::chrono::duration<double> passed = Clock::now() - begin_;
    const double left =
        passed.count() * static_cast<double>(expected_keys_ - keys_) / static_cast<double>(keys_);
    text += ", about " + Thousands(static_cast<uint64_t>(left + 1)) + " s left";
  }
  return text;
}

void JoinProgress::Run(const std::stop_token& over) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  if (!terminal && !always_) return;
  Clock::time_point next = begin_ + kFirst;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!end_.wait_until(lock, over, next, [&over] { return over.stop_requested(); })) {
    next = Clock::now() + (terminal ? kDrawEvery : kLineEvery);
    if (terminal) {
      const std::chrono::duration<double> passed = Clock::now() - begin_;
      const bool known = expected_keys_ > 0 || ranges_ > 0;
      const bool at_end = known && keys_ >= expected_keys_ && !at_the_end_.empty();
      line_.Show({!known   ? "reading this side"
                  : at_end ? at_the_end_
                           : doing_,
                  keys_, std::max(keys_, expected_keys_),
                  /*units_are_bytes=*/false, bytes_, passed.count()});
    } else {
      std::cerr << command_ << ": " + Text() + "\n";
    }
  }
  // Whatever was quick; so that who asked for it sees it once.
  if (always_ && !terminal) std::cerr << command_ << ": " + Text() + "\n";
}

}  // namespace rocksieve::tools
