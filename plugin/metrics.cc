// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/metrics.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "plugin/counters.h"
#include "plugin/range/extractors.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {
namespace {

using MetricLabels = std::map<std::string, std::string>;

// Label values are quoted, help is not: it keeps its quotes.
std::string Escaped(std::string_view text, bool quoted) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '\\' || (quoted && c == '"')) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The shortest text that reads back as the same number, in every locale. Counts are exact up to
// 2^53, as they are in Prometheus.
std::string Number(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

// Letters, digits and underscores, no digit first; names that begin with two underscores are
// Prometheus' own.
bool IsLabelName(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789",
                             kAllowed =
                                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return !name.empty() && name.find_first_not_of(kAllowed) == std::string_view::npos &&
         kDigits.find(name[0]) == std::string_view::npos && name.substr(0, 2) != "__";
}

std::string LabelsInBraces(const MetricLabels& labels) {
  std::string text;
  for (const auto& [label, value] : labels) {
    text += (text.empty() ? "{" : ",") + label + "=\"" + Escaped(value, /*quoted=*/true) + "\"";
  }
  return text.empty() ? text : text + "}";
}

// What a policy counts by family and level.
struct BuiltMetric {
  const char* name;
  const char* help;
  double (*value)(const FiltersBuilt& built);
};

constexpr BuiltMetric kBuiltMetrics[] = {
    {"rocksieve_filters_built_total",
     "Filters built, one per file or per partition of its filter, by family and by the level at "
     "which the file was created.",
     [](const FiltersBuilt& built) { return static_cast<double>(built.filters); }},
    {"rocksieve_filter_keys_total", "Distinct keys and prefixes that the filters were built from.",
     [](const FiltersBuilt& built) { return static_cast<double>(built.keys); }},
    {"rocksieve_filter_bytes_total", "Bytes of the filters built.",
     [](const FiltersBuilt& built) { return static_cast<double>(built.bytes); }},
    {"rocksieve_filter_build_seconds_total",
     "Time that building filters held up the threads that write files.",
     [](const FiltersBuilt& built) { return built.build_seconds; }},
};

// One of the counts of a struct.
template <typename Counted>
struct CountMetric {
  const char* name;
  const char* help;
  uint64_t Counted::*value;
};

// What a policy counts as a whole.
constexpr CountMetric<FilterStats> kPolicyMetrics[] = {
    {"rocksieve_incomplete_filters_built_total",
     "Filters built that answer \"may match\" to more keys than they should, since somebody chose "
     "keys for that.",
     &FilterStats::incomplete_filters_built},
    {"rocksieve_filters_opened_total", "Intact filters of rocksieve that were opened.",
     &FilterStats::filters_opened},
    {"rocksieve_foreign_filters_opened_total",
     "Filters of other policies that were handed to RocksDB's own reader.",
     &FilterStats::foreign_filters_opened},
    {"rocksieve_damaged_filters_total", "Filter blocks that are damaged; their files are searched.",
     &FilterStats::damaged_filters},
    {"rocksieve_future_filters_total",
     "Filter blocks from a later version of rocksieve; their files are searched.",
     &FilterStats::future_filters},
};

// What range filters of the process were asked.
constexpr CountMetric<RangeQueries> kRangeMetrics[] = {
    {"rocksieve_range_seeks_total",
     "Seeks of iterators that came to a file with a range filter, in all databases of the process.",
     &RangeQueries::seeks},
    {"rocksieve_range_bounded_seeks_total",
     "Those among them with an upper bound: filters answer for no others.",
     &RangeQueries::bounded_seeks},
    {"rocksieve_range_negatives_total", "Ranges of seeks that spared a file.",
     &RangeQueries::negatives},
    {"rocksieve_range_positives_total", "Ranges of seeks that a filter let pass.",
     &RangeQueries::positives},
};

struct UnansweredRanges {
  const char* reason;
  uint64_t RangeQueries::*value;
};

constexpr UnansweredRanges kUnansweredRanges[] = {
    {"not_proven", &RangeQueries::not_proven},
    {"other_order", &RangeQueries::other_order},
    {"begins_at_end", &RangeQueries::begins_at_end},
};

// Tickers, added up. Their numbers differ from release to release.
template <uint32_t... kTickers>
uint64_t Sum(const rocksdb::Statistics& statistics) {
  return (statistics.getTickerCount(kTickers) + ...);
}

// From 8.3 on RocksDB counts what iterators ask apart.
#if ROCKSIEVE_ROCKSDB >= 80300
constexpr auto kPrefixesChecked =
    Sum<rocksdb::BLOOM_FILTER_PREFIX_CHECKED, rocksdb::LAST_LEVEL_SEEK_FILTERED,
        rocksdb::LAST_LEVEL_SEEK_FILTER_MATCH, rocksdb::NON_LAST_LEVEL_SEEK_FILTERED,
        rocksdb::NON_LAST_LEVEL_SEEK_FILTER_MATCH>;
constexpr auto kPrefixNegatives =
    Sum<rocksdb::BLOOM_FILTER_PREFIX_USEFUL, rocksdb::LAST_LEVEL_SEEK_FILTERED,
        rocksdb::NON_LAST_LEVEL_SEEK_FILTERED>;
#else
constexpr auto kPrefixesChecked = Sum<rocksdb::BLOOM_FILTER_PREFIX_CHECKED>;
constexpr auto kPrefixNegatives = Sum<rocksdb::BLOOM_FILTER_PREFIX_USEFUL>;
#endif

// What RocksDB counts. Its own names for tickers have changed between releases, these will not.
struct TickerMetric {
  const char* name;
  const char* help;
  uint64_t (*count)(const rocksdb::Statistics& statistics);
};

constexpr TickerMetric kTickerMetrics[kTickerMetricCount] = {
    {"rocksieve_rocksdb_filter_negatives_total",
     "Lookups of a key in a file that its filter spared (RocksDB: BLOOM_FILTER_USEFUL).",
     Sum<rocksdb::BLOOM_FILTER_USEFUL>},
    {"rocksieve_rocksdb_filter_positives_total",
     "Lookups of a key in a file that its filter let pass (RocksDB: BLOOM_FILTER_FULL_POSITIVE).",
     Sum<rocksdb::BLOOM_FILTER_FULL_POSITIVE>},
    {"rocksieve_rocksdb_filter_true_positives_total",
     "Those among them that found something (RocksDB: BLOOM_FILTER_FULL_TRUE_POSITIVE).",
     Sum<rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE>},
    {"rocksieve_rocksdb_filter_prefixes_checked_total",
     "Prefixes that filters were asked for (RocksDB: BLOOM_FILTER_PREFIX_CHECKED, *_LEVEL_SEEK_*).",
     kPrefixesChecked},
    {"rocksieve_rocksdb_filter_prefix_negatives_total",
     "Those among them that spared a file (RocksDB: BLOOM_FILTER_PREFIX_USEFUL, *_SEEK_FILTERED).",
     kPrefixNegatives},
    {"rocksieve_rocksdb_filter_cache_hits_total",
     "Filter blocks found in the block cache (RocksDB: BLOCK_CACHE_FILTER_HIT).",
     Sum<rocksdb::BLOCK_CACHE_FILTER_HIT>},
    {"rocksieve_rocksdb_filter_cache_misses_total",
     "Filter blocks looked for in the block cache in vain (RocksDB: BLOCK_CACHE_FILTER_MISS).",
     Sum<rocksdb::BLOCK_CACHE_FILTER_MISS>},
    {"rocksieve_rocksdb_filter_cache_inserted_bytes_total",
     "Bytes of filter blocks put into the block cache (RocksDB: BLOCK_CACHE_FILTER_BYTES_INSERT).",
     Sum<rocksdb::BLOCK_CACHE_FILTER_BYTES_INSERT>},
    {"rocksieve_rocksdb_seeks_total",
     "Seeks of iterators, of all kinds and in both directions (RocksDB: NUMBER_DB_SEEK).",
     Sum<rocksdb::NUMBER_DB_SEEK>},
    {"rocksieve_rocksdb_prevs_total",
     "Steps of iterators backwards, which no filter answers for (RocksDB: NUMBER_DB_PREV).",
     Sum<rocksdb::NUMBER_DB_PREV>},
};

MetricLabels With(MetricLabels labels, const char* name, std::string value) {
  labels[name] = std::move(value);
  return labels;
}

Metric NewMetric(const char* name, const char* help, Metric::Type type = Metric::Type::kCounter) {
  Metric metric;
  metric.name = name;
  metric.help = help;
  metric.type = type;
  return metric;
}

void AddPolicies(const std::vector<PolicyReading>& readings, std::vector<Metric>* metrics) {
  metrics->push_back(NewMetric("rocksieve_policy_info", "1; the label is the policy's spec.",
                               Metric::Type::kGauge));
  for (const PolicyReading& reading : readings) {
    metrics->back().samples.push_back({With(reading.labels, "spec", reading.spec), 1});
  }
  for (const BuiltMetric& built_metric : kBuiltMetrics) {
    metrics->push_back(NewMetric(built_metric.name, built_metric.help));
    for (const PolicyReading& reading : readings) {
      for (const FiltersBuilt& built : reading.stats.built) {
        MetricLabels labels = With(reading.labels, "family", built.family);
        labels["level"] = built.level < 0 ? "unknown" : std::to_string(built.level);
        metrics->back().samples.push_back({std::move(labels), built_metric.value(built)});
      }
    }
  }
  for (const auto& policy_metric : kPolicyMetrics) {
    metrics->push_back(NewMetric(policy_metric.name, policy_metric.help));
    for (const PolicyReading& reading : readings) {
      metrics->back().samples.push_back(
          {reading.labels, static_cast<double>(reading.stats.*policy_metric.value)});
    }
  }
}

void AddRanges(const RangeQueries& queries, std::vector<Metric>* metrics) {
  for (const auto& range_metric : kRangeMetrics) {
    metrics->push_back(NewMetric(range_metric.name, range_metric.help));
    metrics->back().samples.push_back({{}, static_cast<double>(queries.*range_metric.value)});
  }
  metrics->push_back(NewMetric("rocksieve_range_unanswered_total",
                               "Range filters asked without an answer, so that the file was "
                               "searched, by reason."));
  for (const UnansweredRanges& unanswered : kUnansweredRanges) {
    metrics->back().samples.push_back(
        {{{"reason", unanswered.reason}}, static_cast<double>(queries.*unanswered.value)});
  }
}

void AddTickers(const std::vector<TickerReading>& readings, std::vector<Metric>* metrics) {
  for (size_t i = 0; i < kTickerMetricCount; i++) {
    metrics->push_back(NewMetric(kTickerMetrics[i].name, kTickerMetrics[i].help));
    for (const TickerReading& reading : readings) {
      metrics->back().samples.push_back({reading.labels, static_cast<double>(reading.counts[i])});
    }
  }
}

rocksdb::Status CheckLabels(const MetricLabels& labels) {
  for (const auto& [name, value] : labels) {
    if (name == "family" || name == "level" || name == "spec") {
      return rocksdb::Status::InvalidArgument(
          "rocksieve::CollectMetrics uses the label \"" + name + "\" itself",
          "choose another name");
    }
    if (IsLabelName(name)) continue;
    return rocksdb::Status::InvalidArgument(
        "rocksieve::CollectMetrics: \"" + name + "\" cannot be a label name",
        "letters, digits and underscores are allowed, no digit and no __ in front");
  }
  return rocksdb::Status::OK();
}

rocksdb::Status AddOnce(const MetricLabels& labels, const char* what,
                        std::set<MetricLabels>* taken) {
  if (taken->insert(labels).second) return rocksdb::Status::OK();
  return rocksdb::Status::InvalidArgument(
      std::string("rocksieve::CollectMetrics: two sources with ") + what + " have equal labels",
      "tell them apart, for example by a label db");
}

}  // namespace

RangeQueries GetRangeQueries() { return RangeCounts::Read(); }

FilterQueries GetFilterQueries(const rocksdb::Statistics& statistics) {
  FilterQueries queries;
  queries.negatives = statistics.getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  // In this order, and bounded: lookups may go on meanwhile.
  queries.true_positives = statistics.getTickerCount(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE);
  queries.positives = std::max(queries.true_positives,
                               statistics.getTickerCount(rocksdb::BLOOM_FILTER_FULL_POSITIVE));
  return queries;
}

TickerCounts ReadTickers(const rocksdb::Statistics& statistics) {
  TickerCounts counts{};
  for (size_t i = 0; i < kTickerMetricCount; i++) {
    counts[i] = kTickerMetrics[i].count(statistics);
  }
  return counts;
}

std::vector<Metric> MetricsOf(const std::vector<PolicyReading>& policies,
                              const std::vector<TickerReading>& tickers) {
  std::vector<Metric> metrics;
  if (!policies.empty()) {
    AddPolicies(policies, &metrics);
    AddRanges(GetRangeQueries(), &metrics);
  }
  if (!tickers.empty()) AddTickers(tickers, &metrics);
  return metrics;
}

rocksdb::Status CollectMetrics(const std::vector<MetricsSource>& sources,
                               std::vector<Metric>* metrics) {
  std::vector<PolicyReading> policies;
  std::vector<TickerReading> tickers;
  std::set<MetricLabels> policy_labels, statistics_labels;
  for (const MetricsSource& source : sources) {
    rocksdb::Status status = CheckLabels(source.labels);
    if (source.policy == nullptr && source.statistics == nullptr) {
      status = rocksdb::Status::InvalidArgument(
          "rocksieve::CollectMetrics: a source has neither policy nor statistics",
          "the database may have been opened without");
    }
    if (status.ok() && source.policy != nullptr) {
      policies.push_back({source.labels, source.policy->GetId(), {}});
      status = GetFilterStats(source.policy, &policies.back().stats);
      if (status.ok()) status = AddOnce(source.labels, "policies", &policy_labels);
    }
    if (status.ok() && source.statistics != nullptr) {
      tickers.push_back({source.labels, ReadTickers(*source.statistics)});
      status = AddOnce(source.labels, "statistics", &statistics_labels);
    }
    if (!status.ok()) return status;
  }
  *metrics = MetricsOf(policies, tickers);
  return rocksdb::Status::OK();
}

// https://prometheus.io/docs/instrumenting/exposition_formats/. One metric after another, each with
// all its samples: the format has them together.
std::string PrometheusText(const std::vector<Metric>& metrics) {
  std::string text;
  for (const Metric& metric : metrics) {
    const bool counts = metric.type == Metric::Type::kCounter;
    text += "# HELP " + metric.name + " " + Escaped(metric.help, /*quoted=*/false) + "\n";
    text += "# TYPE " + metric.name + (counts ? " counter\n" : " gauge\n");
    for (const Metric::Sample& sample : metric.samples) {
      text += metric.name + LabelsInBraces(sample.labels) + " " + Number(sample.value) + "\n";
    }
  }
  return text;
}

rocksdb::Status PrometheusText(const std::vector<MetricsSource>& sources, std::string* text) {
  std::vector<Metric> metrics;
  const rocksdb::Status status = CollectMetrics(sources, &metrics);
  if (status.ok()) *text = PrometheusText(metrics);
  return status;
}

}  // namespace rocksieve
