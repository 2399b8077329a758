// SPDX-License-Identifier: Apache-2.0
// Ranges that several sessions of one join open, one session for each shard of the other side: each
// range is scanned and hashed once, by the session that comes first, and so is the filter made with
// which this side begins. A session that has to repeat a range, under another salt, scans it for
// itself: few do, and the others have no use for it.
//
// Sessions go through the same ranges, under the same salt and numbers, each in its own time. A
// range is kept until all have taken it. One that is far behind is waited for, but not for long:
// then it has to scan for itself what the others have done with, so that no session ever depends on
// another.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/status.h>

#include "lib/join/matching/matching_range.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/reconciliation.h"

namespace rocksieve::join {

// What a side computes of its ranges between what it hears and what it says to that: by other
// threads, if there are any, so that several ranges are worked on while the session's own thread
// reads the source and talks.
//
// A range has one turn at a time, and nobody else uses its Reconciliation meanwhile: what arrives
// for it waits until the turn is done. So each range goes the same way as in one thread, and says
// the same.

// Threads that compute for the sessions of a process.

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

// Thread-safe.
class SharedRanges {
 public:
  struct Options {
    uint64_t salt = 0;  // of all sessions
    // Ranges that not all sessions have taken, 24 bytes per key each.
    size_t most_kept = 4;
    std::chrono::milliseconds patience{2000};  // with those that are behind
  };

  // A range that was taken; whoever holds it can have its first filter.
  class Range;

  // A session's part in it.
  class Member {
   public:
    explicit Member(SharedRanges* ranges);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    uint64_t salt() const { return ranges_->options_.salt; }

    // The others need not keep anything for it any more. What it still takes, it scans.
    void Leave();

    // As ScanKeys(); `source` shows the same state to all sessions, and is scanned only if nobody
    // has done so. `scanned`: it was.
    absl::Status Take(Source* source, const KeyInterval& interval, uint64_t range_salt,
                      uint64_t most_keys, RangeKeys* keys, std::shared_ptr<FilterMaker>* filters,
                      bool* scanned);

   private:
    SharedRanges* const ranges_;
    bool behind_ = false;  // the others do not wait for it
    friend class SharedRanges;
  };

  explicit SharedRanges(const Options& options) : options_(options) {}

 private:
  std::shared_ptr<Range> Find(const std::string& begin, uint64_t salt) const;
  bool IsWanted(const Range& range) const;
  void DropUnwanted();
  // The keys are null if they could not be scanned. REQUIRES: the mutex is held.
  void EndScan(const std::shared_ptr<Range>& range, std::shared_ptr<const RangeKeys> keys);
  void WaitForRoom(std::unique_lock<std::mutex>* lock);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Member*> members_;
  std::list<std::shared_ptr<Range>> kept_;  // in key order
  std::string next_;                        // no range from here on was ever kept
};

}  // namespace rocksieve::join
