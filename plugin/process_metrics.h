// SPDX-License-Identifier: Apache-2.0
// ROCKSIEVE_METRICS=ADDRESS:PORT or =/DIR/NAME.prom: the metrics of a whole process, for programs
// that turned a policy on by an option string and have no code for us.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rocksdb/statistics.h>

#include "plugin/counters.h"
#include "plugin/readings.h"

namespace rocksieve {

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
