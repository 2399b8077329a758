// SPDX-License-Identifier: Apache-2.0
// What a long command tells its user, and Ctrl-C without traces: long loops ask whether the user
// has had enough, and unwind.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace rocksieve {

// How far a step of a command is.
struct ProgressState {
  std::string step;
  uint64_t done = 0, units = 0;  // of so many; 0: of an unknown number
  bool units_are_bytes = false;
  uint64_t bytes = 0;  // that count besides, such as those on the wire; if the units are none
  double seconds = 0;  // since it began
};

// "rocksieve load: loading  63 %  2.7 MB  1.1 MB/s  5 s left", at most `columns` wide: without the
// rate if need be, then without the amount, and at last without the end of the command and step.
std::string ProgressLine(const std::string& command, const ProgressState& state, size_t columns);

// One line on stderr that says what is going on, as wide as the terminal; nothing at all if stderr
// is none.
class Progress {
 public:
  explicit Progress(std::string command);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows a step, at once or when it has lasted for so long; with a percentage and the time left,
  // if the number of its units is known (not 0), else with the number of units done, once there
  // are any. Not while another thread is in Advance().
  void Begin(const std::string& step, uint64_t units = 0, bool units_are_bytes = false,
             std::chrono::milliseconds silence = std::chrono::milliseconds(0));

  // Says that so many more units of the step are done. Costs some 50 ns. Thread-safe.
  // False if the user has interrupted the command.
  bool Advance(uint64_t units = 1);

  // Shows a step whose state somebody else keeps. As Begin().
  void Show(const ProgressState& state);

  // Takes the line away, before anything else is printed.
  void Clear();

 private:
  void Draw(const ProgressState& state);

  const std::string command_;
  const bool terminal_;
  ProgressState state_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::milliseconds silence_{0};
  std::atomic<uint64_t> done_ = 0;

  std::mutex mutex_;  // held by the one thread that draws
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_draw_;
};

// While it lives, SIGINT, SIGTERM and SIGHUP are only remembered, so that what was written can be
// removed in order. One at a time per process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

// The signal that arrived, or 0. Thread-safe, some nanoseconds.
int InterruptSignal();

// Ends the process by the signal that arrived, as if it had not been caught: shells and scripts
// tell that from an exit code. Does nothing if none arrived. REQUIRES: no InterruptGuard lives.
void EndByInterruptSignal();

}  // namespace rocksieve
