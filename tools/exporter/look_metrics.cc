// SPDX-License-Identifier: Apache-2.0
#include "tools/exporter/look_metrics.h"

#include <map>
#include <utility>

#include <rocksdb/version.h>

#include "plugin/database/policy_spec.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using Labels = std::map<std::string, std::string>;

// Metrics by their names, in the order of kMetrics.
class MetricSet {
 public:
  void Add(const char* name, const Labels& labels, double value);
  // Nothing of what is not known.
  void Add(const char* name, const Labels& labels, const Json& value) {
    if (value.is_number()) Add(name, labels, value.get<double>());
  }
  std::vector<Metric> Take();

 private:
  std::map<std::string, std::vector<Metric::Sample>> samples_;
};

struct MetricText {
  const char* name;
  const char* help;
};

constexpr char kUp[] = "rocksieve_db_up";
constexpr char kInterval[] = "rocksieve_exporter_look_interval_seconds";
constexpr char kInfo[] = "rocksieve_exporter_info";
constexpr char kLooking[] = "rocksieve_db_look_running";
constexpr char kLooks[] = "rocksieve_db_looks_total";
constexpr char kFailures[] = "rocksieve_db_look_failures_total";
constexpr char kLookSecondsTotal[] = "rocksieve_db_look_seconds_total";
constexpr char kLookBytesTotal[] = "rocksieve_db_look_read_bytes_total";
constexpr char kLookSeconds[] = "rocksieve_db_last_look_duration_seconds";
constexpr char kLookBytes[] = "rocksieve_db_last_look_read_bytes";
constexpr char kLookTime[] = "rocksieve_db_last_look_timestamp_seconds";
constexpr char kProcessSeen[] = "rocksieve_db_process_seen";
constexpr char kFinding[] = "rocksieve_db_finding";
constexpr char kPolicyInfo[] = "rocksieve_db_policy_info";
constexpr char kBudget[] = "rocksieve_db_auto_budget_bytes";
constexpr char kReads[] = "rocksieve_db_false_positive_reads_per_absent_lookup";
constexpr char kPredictedReads[] = "rocksieve_db_predicted_false_positive_reads_per_absent_lookup";
constexpr char kUnfilteredReads[] = "rocksieve_db_unfiltered_reads_per_absent_lookup";
// promtool wants bytes for bits.
constexpr char kBytesPerKey[] = "rocksieve_db_filter_bytes_per_key";
constexpr char kFilesOfFamily[] = "rocksieve_db_files_by_filter";

// Of a level: the key of docs/json.md that it is.
struct LevelMetric {
  const char* key;
  const char* name;
};

constexpr LevelMetric kLevelMetrics[] = {
    {"files", "rocksieve_db_files"},
    {"files_without_filter", "rocksieve_db_files_without_filter"},
    {"keys", "rocksieve_db_keys"},
    {"file_bytes", "rocksieve_db_file_bytes"},
    {"filter_bytes", "rocksieve_db_filter_bytes"},
    {"predicted_false_positive_rate", "rocksieve_db_predicted_false_positive_rate"},
    {"measured_false_positive_rate", "rocksieve_db_measured_false_positive_rate"},
};

// All of them. Counters have _total at their ends.
constexpr MetricText kMetrics[] = {
    {kInfo, "1; the labels are the versions of rocksieve and of the RocksDB that it looks with."},
    {kInterval, "Time from the end of a look to the next."},
    {kUp, "Whether the last look could open the database; the log says why not."},
    {kLooking, "Whether a look is under way."},
    {kLooks, "Looks that have ended, since the exporter began."},
    {kFailures, "Those among them that could not open the database."},
    {kLookSecondsTotal, "Time that looks took."},
    {kLookBytesTotal, "Bytes that looks read, from the system's cache or not."},
    {kLookSeconds, "Time that the last look took."},
    {kLookBytes, "Bytes that the last look read, from the system's cache or not."},
    {kLookTime, "When the last look ended."},
    {kProcessSeen, "Whether the process that has the database open could be looked into as well."},
    {kFinding, "Whether rocksieve doctor has this finding."},
    {kPolicyInfo, "1; the label is the filter policy of the OPTIONS file."},
    {"rocksieve_db_files", "Table files."},
    {"rocksieve_db_files_without_filter", "Table files that have no filter."},
    {kFilesOfFamily, "Table files by the kind of their filter."},
    {"rocksieve_db_keys", "Entries of table files, old versions and tombstones included."},
    {"rocksieve_db_file_bytes", "Bytes of table files."},
    {"rocksieve_db_filter_bytes", "Bytes of filters."},
    {kBytesPerKey, "Bytes of filters over entries: an eighth of the bits per key."},
    {kBudget, "Bytes that rocksieve.auto may give to the filters of the entries that are there."},
    {"rocksieve_db_predicted_false_positive_rate", "As the filters promise, of 1."},
    {"rocksieve_db_measured_false_positive_rate",
     "Absent keys that the filters passed over those that they were asked for."},
    {kReads, "Data blocks that a lookup of an absent key reads needlessly, as measured."},
    {kPredictedReads, "The same, as the filters promise."},
    {kUnfilteredReads, "Data blocks that it would read if there were no filters."},
};

void MetricSet::Add(const char* name, const Labels& labels, double value) {
  samples_[name].push_back({labels, value});
}

std::vector<Metric> MetricSet::Take() {
  constexpr std::string_view kTotal = "_total";
  std::vector<Metric> metrics;
  for (const MetricText& text : kMetrics) {
    auto found = samples_.find(text.name);
    if (found == samples_.end()) continue;
    Metric metric;
    metric.name = text.name;
    metric.help = text.help;
    metric.type = metric.name.ends_with(kTotal) ? Metric::Type::kCounter : Metric::Type::kGauge;
    metric.samples = std::move(found->second);
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

// A scrape with a label that is no UTF-8 would be refused as a whole.
std::string LabelOf(const std::string& name) {
  return Json::parse(Document(name)) == Json(name) ? name : PrintableKey(name);
}

void AddFindings(const Findings& findings, const Labels& labels, MetricSet* metrics) {
  std::map<std::pair<std::string, std::string>, bool> found;  // by id and severity
  for (const FindingKind& kind : FindingKinds()) found[{kind.id, NameOf(kind.severity)}] = false;
  for (const Finding& finding : findings) found[{finding.id, NameOf(finding.severity)}] = true;
  for (const auto& [kind, is_there] : found) {
    Labels with_kind = labels;
    with_kind["finding"] = kind.first;
    with_kind["severity"] = kind.second;
    metrics->Add(kFinding, with_kind, is_there ? 1.0 : 0.0);
  }
}

void AddLevel(const Json& level, Labels labels, MetricSet* metrics) {
  labels["level"] = std::to_string(level["level"].get<int>());
  for (const LevelMetric& metric : kLevelMetrics)
    metrics->Add(metric.name, labels, level[metric.key]);
  metrics->Add(kBytesPerKey, labels, level["bits_per_key"].get<double>() / 8);
  for (const Json& group : level["filters"]) {
    labels["family"] = LabelOf(group["family"]);
    metrics->Add(kFilesOfFamily, labels, group["files"]);
  }
}

void AddColumnFamily(const Json& family, Labels labels, MetricSet* metrics) {
  labels["column_family"] = LabelOf(family["name"]);
  for (const Json& level : family["levels"]) AddLevel(level, labels, metrics);
  metrics->Add(kReads, labels, family["expected_useless_reads_per_missing_lookup"]);
  metrics->Add(kPredictedReads, labels, family["predicted_useless_reads_per_missing_lookup"]);
  metrics->Add(kUnfilteredReads, labels,
               family["useless_reads_per_missing_lookup_without_filters"]);
  if (!family["filter_policy"].is_string()) return;  // there is no OPTIONS file
  const std::string words = family["filter_policy"];
  const PolicyFacts policy = PolicyFacts::Describe(words);
  metrics->Add(kBudget, labels, family["filter_budget_bytes"]);
  labels["policy"] = LabelOf(policy.spec);
  metrics->Add(kPolicyInfo, labels, 1.0);
}

void AddDatabase(const WatchedDatabase& database, MetricSet* metrics) {
  const Labels labels = {{"db", LabelOf(database.directory)}};
  metrics->Add(kLooking, labels, database.looking ? 1.0 : 0.0);
  metrics->Add(kLooks, labels, static_cast<double>(database.looks));
  metrics->Add(kFailures, labels, static_cast<double>(database.failed_looks));
  metrics->Add(kLookSecondsTotal, labels, database.look_seconds);
  metrics->Add(kLookBytesTotal, labels, database.read_bytes);
  if (!database.last) return;
  const Look& look = *database.last;
  metrics->Add(kUp, labels, look.error.empty() ? 1.0 : 0.0);
  metrics->Add(kLookSeconds, labels, look.seconds);
  metrics->Add(kLookBytes, labels, static_cast<double>(look.read_bytes));
  metrics->Add(kLookTime, labels, look.unix_time);
  if (!look.error.empty()) return;  // what was known is no longer so
  metrics->Add(kProcessSeen, labels, look.process_seen ? 1.0 : 0.0);
  AddFindings(look.findings, labels, metrics);
  for (const Json& family : look.explanation["column_families"]) {
    AddColumnFamily(family, labels, metrics);
  }
}

}  // namespace

std::vector<Metric> MetricsOf(const std::vector<WatchedDatabase>& databases,
                              double seconds_between_looks) {
  MetricSet metrics;
  metrics.Add(
      kInfo,
      {{"version", ROCKSIEVE_VERSION}, {"rocksdb_version", rocksdb::GetRocksVersionAsString()}},
      1.0);
  metrics.Add(kInterval, {}, seconds_between_looks);
  for (const WatchedDatabase& database : databases) AddDatabase(database, &metrics);
  return metrics.Take();
}

}  // namespace rocksieve::tools
