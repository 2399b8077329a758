// SPDX-License-Identifier: Apache-2.0
// What a policy, its builders and its readers count, and how damage is reported once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/env.h>

#include <rocksieve/filter_policy.h>

namespace rocksieve {

// Shared by a policy and the builders that it made. Thread-safe. A mutex is cheap enough for what
// is built: it is taken once per filter, which takes microseconds to build if it has a hundred
// keys, and never by a query.
class Counters {
 public:
  // One filter more: `built` with its `filters` at 1. Reports the first filter of a policy that is
  // not complete. `saturated_fraction`: see FilterBlock.
  void CountBuilt(const FiltersBuilt& built, double saturated_fraction);
  void CountOpened() { filters_opened_.fetch_add(1, std::memory_order_relaxed); }
  void CountForeign() { foreign_.fetch_add(1, std::memory_order_relaxed); }

  // Count, and report the first of a policy.
  void CountDamaged(const char* what) { CountUnreadable(&damaged_, what); }
  void CountFuture(const char* what) { CountUnreadable(&future_, what); }

  // Reports the first message of a policy. RocksDB tells a policy neither which file a block came
  // from nor where to log, so it goes to the log of a table that is being built just now, else to
  // stderr and again to the log of the next table that is built.
  void ReportOnce(const std::string& message);

  // What was built comes in the order of the families' names, then of the levels.
  FilterStats stats() const;

  // A builder announces its log for as long as it lives: the log dies with the database, and the
  // policy may outlive both. `log` may be null.
  void AddLog(rocksdb::Logger* log);
  void RemoveLog(rocksdb::Logger* log);

 private:
  void CountUnreadable(std::atomic<uint64_t>* counter, const char* what);

  std::atomic<uint64_t> incomplete_{0};
  std::atomic<uint64_t> filters_opened_{0}, foreign_{0}, damaged_{0}, future_{0};

  mutable std::mutex mutex_;                                   // guards all that follows
  std::map<std::pair<std::string, int>, FiltersBuilt> built_;  // by family and level
  std::vector<rocksdb::Logger*> logs_;
  std::string unlogged_;  // reported to stderr only, so far
  bool reported_ = false;
};

}  // namespace rocksieve
