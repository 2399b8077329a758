// SPDX-License-Identifier: Apache-2.0
// What filters do, for programs that watch themselves: numbers, and text for Prometheus.
//
//   std::string text;
//   rocksdb::Status status =
//       rocksieve::PrometheusText({{policy.get(), options.statistics.get(), {}}}, &text);
//
// What filters cost is counted by the policy, see FilterStats in filter_policy.h. What they answer
// is counted by RocksDB, in the statistics that a database was opened with, and read from there:
// a counter of our own would make a query slower and know less (docs/decisions/plugin.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <rocksdb/statistics.h>

#include "filter_policy.h"  // RocksDB installs both under another name

namespace rocksieve {

// What filters answered to lookups of whole keys: those of all column families of the databases
// that share the statistics, and of all kinds, RocksDB's own too. One lookup asks several files.
// Of filters that hold prefixes only (whole_key_filtering off), RocksDB before 8.3 counts the
// negatives and not the positives: with such column families the rate is too low. Later releases
// count neither here.
struct FilterQueries {
  uint64_t negatives = 0;       // the file was spared
  uint64_t positives = 0;       // the file was searched
  uint64_t true_positives = 0;  // and something was found: a value, a merge operand or a deletion

  uint64_t false_positives() const { return positives - true_positives; }

  // Of the filters asked for a key that they do not have, the share that let it pass; 0 if none.
  double false_positive_rate() const {
    const uint64_t absent_lookups = negatives + false_positives();
    return absent_lookups == 0
               ? 0
               : static_cast<double>(false_positives()) / static_cast<double>(absent_lookups);
  }
};

// Thread-safe.
ROCKSIEVE_EXPORT FilterQueries GetFilterQueries(const rocksdb::Statistics& statistics);

// What iterators asked the filters of rocksieve.range in this process, in all its databases: each
// file with such a filter that a seek comes to counts once. What RocksDB asks no filter about is
// not in here: SeekForPrev(), SeekToLast(), total_order_seek (docs/range.md).
struct RangeQueries {
  uint64_t seeks = 0;          // Seek() of an iterator
  uint64_t bounded_seeks = 0;  // of those, with an upper bound: filters answer for no others

  uint64_t negatives = 0;  // the file was spared
  uint64_t positives = 0;  // the file was searched: it may have a key of the range

  // Asked, and not answered, so that the file was searched:
  uint64_t not_proven = 0;     // it is not certain which range is meant; lookups of the empty key
  uint64_t other_order = 0;    // the filter knows no order: another comparator, RocksDB before 7.4
  uint64_t begins_at_end = 0;  // the range ends where it begins: seeks of RocksDB's own
};

// Since the process began. Thread-safe.
ROCKSIEVE_EXPORT RangeQueries GetRangeQueries();

// A policy, or a database's statistics, or both. A policy that serves several databases is named
// once; each of them then has a source of its own, with its statistics.
struct MetricsSource {
  const rocksdb::FilterPolicy* policy = nullptr;    // made by rocksieve
  const rocksdb::Statistics* statistics = nullptr;  // Options::statistics
  std::map<std::string, std::string> labels;        // of all its metrics, such as {"db", "users"}
};

// One metric with all its samples, no two of which have the same labels.
struct Metric {
  enum class Type { kCounter, kGauge };
  struct Sample {
    std::map<std::string, std::string> labels;
    double value = 0;
  };

  std::string name, help;
  Type type = Type::kGauge;
  std::vector<Sample> samples;
};

// All metrics of all sources: counters whose names begin with rocksieve_, those of filters built
// labelled with family and level ("unknown" for -1). Those of GetRangeQueries() come with the first
// policy, without labels of sources. Names and labels are stable; docs/metrics.md
// lists them.
// InvalidArgument, and *metrics untouched, for a source with neither policy nor statistics, a
// policy that is not ours, a label name that Prometheus does not allow or that is used here
// (family, level, spec), and for two policies or two statistics with equal labels. Thread-safe.
ROCKSIEVE_EXPORT rocksdb::Status CollectMetrics(const std::vector<MetricsSource>& sources,
                                                std::vector<Metric>* metrics);

// The metrics in Prometheus' text exposition format 0.0.4, with each name once.
ROCKSIEVE_EXPORT std::string PrometheusText(const std::vector<Metric>& metrics);

// Both in one: the text of what CollectMetrics() gives, and *text untouched by its errors.
// metrics_exporter.h serves it over HTTP.
ROCKSIEVE_EXPORT rocksdb::Status PrometheusText(const std::vector<MetricsSource>& sources,
                                                std::string* text);

}  // namespace rocksieve
