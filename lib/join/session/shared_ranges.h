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
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <absl/status/status.h>

#include "lib/join/matching/matching_range.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/reconciliation.h"

namespace rocksieve::join {

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
                      uint64_t most_keys, RangeKeys* keys, FilterMaker* filters, bool* scanned);

   private:
    SharedRanges* const ranges_;
    bool behind_ = false;  // the others do not wait for it
    friend class SharedRanges;
  };

  explicit SharedRanges(const Options& options) : options_(options) {}

 private:
  std::shared_ptr<Range> Find(const KeyInterval& interval, uint64_t salt) const;
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
