// SPDX-License-Identifier: Apache-2.0
// What a side computes of its ranges between what it hears and what it says to that: by other
// threads, if there are any, so that several ranges are worked on while the session's own thread
// reads the source and talks.
//
// A range has one turn at a time, and nobody else uses its Reconciliation meanwhile: what arrives
// for it waits until the turn is done. So each range goes the same way as in one thread, and says
// the same.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/memory_account.h"
#include "lib/join/session/reconciliation.h"

namespace rocksieve::join {

// Threads that compute for the sessions of a process. Takes work in turn: what is added first is begun first. Thread-safe.
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

// Thread safety: one thread at a time, that of the session.
class RangeTurns {
 public:
  struct Done {
    uint64_t range = 0;
    absl::Status status;
    std::vector<std::string> steps;  // to be said; none that followed what was contradicted
  };

  // Null workers: a turn is done when Begin() returns. `memory`, which may be null, has what was
  // heard until then. Both must outlive it.
  RangeTurns(Workers* workers, MemoryAccount* memory) : workers_(workers), memory_(memory) {}
  // Waits for all.
  ~RangeTurns();
  RangeTurns(const RangeTurns&) = delete;
  RangeTurns& operator=(const RangeTurns&) = delete;

  // `ready` is called by other threads, one after another, whenever a turn is done; empty: no more.
  void WhenReady(std::function<void()> ready);

  // Takes a step of the other side, if one was heard, and lets the range speak as long as it may.
  // ResourceExhausted: what was heard does not fit in memory. REQUIRES: the range is not under way,
  // and `reconciliation` stays until it is done.
  absl::Status Begin(uint64_t range, Reconciliation* reconciliation,
                     std::optional<std::string> heard);

  // Turns that were begun and not taken.
  bool empty() const { return turns_.empty(); }
  // The next one that is done. Throws what its computing threw.
  std::optional<Done> Take();
  // That of the range, when it is done; nothing if it has none.
  std::optional<Done> WaitFor(uint64_t range);

 private:
  struct Turn {
    Turn(uint64_t the_range, MemoryAccount* account) : memory(account) { done.range = the_range; }

    Reconciliation* reconciliation = nullptr;
    std::optional<std::string> heard;
    MemoryHold memory;
    Done done;
    std::exception_ptr thrown;
    bool is_done = false;  // of all, only this is shared
  };
  using Turns = std::list<Turn>;

  static void Compute(Turn* turn) noexcept;
  void End(Turn* turn);
  Done TakeAt(Turns::iterator turn);

  Workers* const workers_;
  MemoryAccount* const memory_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::function<void()> ready_;
  Turns turns_;
};

}  // namespace rocksieve::join
