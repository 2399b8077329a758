// Ctrl-C without traces: long loops ask whether the user has had enough, and unwind.
#pragma once

namespace rocksieve {

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

// Ends the process by the signal that arrived, as if nobody had held it up: shells and scripts tell
// that from an exit code. Does nothing if none arrived. REQUIRES: no InterruptGuard lives.
void EndByInterruptSignal();

}  // namespace rocksieve
