// SPDX-License-Identifier: Apache-2.0
// civetweb's threads in a process that is not ours: they take none of its signals, and SIGPIPE goes
// on doing what it did.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace rocksieve {

// While it lives, threads that are started block all signals.
class QuietThreads {
 public:
  QuietThreads() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~QuietThreads() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  QuietThreads(const QuietThreads&) = delete;
  QuietThreads& operator=(const QuietThreads&) = delete;

 private:
  sigset_t before_;
};

// Remembers what SIGPIPE does, and has that again when it ends. Each thread of civetweb makes the
// process ignore it, as its first act; none needs that, for they block it. One at a time.
class SigpipeGuard {
 public:
  SigpipeGuard();
  ~SigpipeGuard();
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;

  // Waits until so many threads have begun, a second at most.
  static void WaitForThreads(int threads);

  // Called by each thread that has begun: those that come later undo it for themselves.
  static void ThreadHasBegun();
};

}  // namespace rocksieve
