// What a long command tells its user, and Ctrl-C without traces: long loops ask whether the user
// has had enough, and unwind.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace rocksieve {

// One line on stderr that says what is going on; nothing at all if stderr is not a terminal.
class Progress {
 public:
  explicit Progress(std::string command);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows a step at once; with a percentage, if the number of its units is known (not 0), else with
  // the number of units done, once there are any.
  // Not while another thread is in Advance().
  void Begin(const std::string& step, uint64_t units = 0);

  // Says that so many more units of the step are done. Costs some 50 ns. Thread-safe.
  // False if the user has interrupted the command.
  bool Advance(uint64_t units = 1);

  // Takes the line away, before anything else is printed.
  void Clear();

 private:
  void Draw();

  const std::string command_;
  const bool terminal_;
  std::string step_;
  uint64_t units_ = 0;
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
