// SPDX-License-Identifier: Apache-2.0
// What metrics are made of: what policies and statistics have counted, read at one moment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <rocksdb/statistics.h>

#include <rocksieve/filter_policy.h>
#include <rocksieve/metrics.h>

namespace rocksieve {

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

}  // namespace rocksieve
