// SPDX-License-Identifier: Apache-2.0
// What a policy, its builders and its readers count, and how damage is reported once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/statistics.h>

#include <rocksieve/filter_policy.h>
#include <rocksieve/metrics.h>

namespace rocksieve {

// Adds up all but family and level.
void AddTo(FiltersBuilt* sum, const FiltersBuilt& built);

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

// What metrics are made of: what policies and statistics have counted, read at one moment; and
// ROCKSIEVE_METRICS=ADDRESS:PORT or =/DIR/NAME.prom: the metrics of a whole process, for programs
// that turned a policy on by an option string and have no code for us.

struct PolicyReading {
  std::map<std::string, std::string> labels;
  std::string spec;
  FilterStats stats;
};

// Of RocksDB's counters, those that are metrics of ours, in the order of docs/metrics.md.
inline constexpr size_t kTickerMetricCount = 10;
using TickerCounts = std::array<uint64_t, kTickerMetricCount>;

struct TickerReading {
  std::map<std::string, std::string> labels;
  TickerCounts counts{};
};

TickerCounts ReadTickers(const rocksdb::Statistics& statistics);

// The metrics of docs/metrics.md. REQUIRES: no two policies, and no two tickers, with equal labels.
std::vector<Metric> MetricsOf(const std::vector<PolicyReading>& policies,
                              const std::vector<TickerReading>& tickers);

// What all policies and all statistics of databases in this process have counted, those of closed
// databases included: nothing goes down when a database is closed. Policies are added up by their
// spec, which is their label; statistics all together. Thread-safe.
class ProcessMetrics {
 public:
  // Null unless ROCKSIEVE_METRICS is set. Lives as long as the process: what serves it may ask
  // while the process ends.
  static ProcessMetrics* IfWanted();

  // Takes the counts of a policy that is in use. The first one starts the exporter, in a library
  // of its own that is loaded now; if that fails, one sentence on stderr says why.
  void AddPolicy(const std::string& spec, std::shared_ptr<const Counters> counters);

  // What a database was opened with; null, and what is there already, are ignored.
  void AddStatistics(const std::shared_ptr<rocksdb::Statistics>& statistics);

  std::vector<Metric> Collect();

 private:
  struct OfSpec {
    FilterStats retired;  // of policies that are gone
    std::vector<std::shared_ptr<const Counters>> living;
  };

  explicit ProcessMetrics(std::string target) : target_(std::move(target)) {}
  void StartExporter() const;
  void RetireUnused();

  const std::string target_;
  std::once_flag started_;

  std::mutex mutex_;  // guards all that follows
  std::map<std::string, OfSpec> policies_;
  bool any_statistics_ = false;
  TickerCounts retired_tickers_{};
  std::vector<std::shared_ptr<rocksdb::Statistics>> statistics_;
};

}  // namespace rocksieve
