// SPDX-License-Identifier: Apache-2.0
#include "tools/exporter/watch.h"

#include <cctype>
#include <chrono>
#include <cmath>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <rocksdb/version.h>

#include "plugin/database/tree.h"
#include "support/return_if_error.h"
#include "support/text.h"
#include "tools/explain/explain.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// That this process has read since it began, from files above all.
uint64_t BytesRead() {
  std::ifstream io("/proc/self/io");
  std::string name;
  for (uint64_t number = 0; io >> name >> number;) {
    if (name == "rchar:") return number;
  }
  return 0;
}

Status LookOnce(const std::string& directory, Progress* progress, Look* look) {
  DatabaseTrees opened;
  RETURN_IF_ERROR(OpenAndReadTrees(directory, {}, progress, &opened));
  RETURN_IF_ERROR(Explain(ExplainOptions(), progress, &look->explanation, &opened));
  const Facts facts = FactsOf(std::move(opened), progress);
  look->process_seen = facts.process.has_value();
  look->findings = RunChecks(facts);
  return Status::OK();
}

// Opens the database only to look, with a block cache of its own. Reads all filters, and a few
// thousand keys; never throws.
Look LookAt(const std::string& directory, Progress* progress) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const uint64_t bytes_before = BytesRead();
  Look look;
  try {
    const Status status = LookOnce(directory, progress, &look);
    if (!status.ok()) look.error = MessageOf(status);
  } catch (const std::bad_alloc&) {
    look.error = "out of memory: give it more (ulimit -v)";
  } catch (const std::system_error& error) {
    look.error = std::string(error.what()) + ": allow it more threads (ulimit -u) or memory";
  } catch (const std::exception& exception) {
    look.error = exception.what();
  }
  look.interrupted = InterruptSignal() != 0;
  look.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  look.read_bytes = BytesRead() - bytes_before;
  look.unix_time =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return look;
}

using Labels = std::map<std::string, std::string>;
using Samples = std::vector<Metric::Sample>;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// The last look, if it could open the database: what was known before is no longer so.
const Look* SeenIn(const WatchedDatabase& database) {
  return database.last && database.last->error.empty() ? &*database.last : nullptr;
}

// A scrape with a label that is no UTF-8, or has a byte 0, would be refused as a whole.
std::string LabelOf(const std::string& name) {
  const bool is_text = name.find('\0') == name.npos && Json::parse(Document(name)) == Json(name);
  return is_text ? name : PrintableKey(name);
}

Labels With(Labels labels, const char* name, const std::string& value) {
  labels[name] = value;
  return labels;
}

void AddFindings(const Look& look, const Labels& labels, Samples* samples) {
  std::map<std::pair<std::string, std::string>, bool> found;  // by id and severity
  for (const FindingKind& kind : FindingKinds()) found[{kind.id, NameOf(kind.severity)}] = false;
  for (const Finding& finding : look.findings) found[{finding.id, NameOf(finding.severity)}] = true;
  for (const auto& [kind, is_there] : found) {
    samples->push_back({With(With(labels, "finding", kind.first), "severity", kind.second),
                        is_there ? 1.0 : 0.0});
  }
}

void AddPolicy(const Json& family, const Labels& labels, Samples* samples) {
  if (!family["filter_policy"].is_string()) return;  // there is no OPTIONS file
  const PolicyFacts policy = PolicyFacts::Describe(family["filter_policy"]);
  samples->push_back({With(labels, "policy", LabelOf(policy.spec)), 1});
}

void AddFilesByFilter(const Json& level, const Labels& labels, Samples* samples) {
  for (const Json& group : level["filters"]) {
    samples->push_back(
        {With(labels, "family", LabelOf(group["family"])), group["files"].get<double>()});
  }
}

// Of each database, column family or level; the latter by their keys in docs/json.md, or otherwise.
struct MetricKind {
  const char *name, *help;  // counters have _total at their ends
  double (*of_database)(const WatchedDatabase& database) = nullptr;
  const char *of_family = nullptr, *of_level = nullptr;
  double scale = 1;
  void (*from_look)(const Look& look, const Labels& labels, Samples* samples) = nullptr;
  void (*from_family)(const Json& family, const Labels& labels, Samples* samples) = nullptr;
  void (*from_level)(const Json& level, const Labels& labels, Samples* samples) = nullptr;
};

using Db = WatchedDatabase;
constexpr MetricKind kMetrics[] = {
    {.name = "rocksieve_db_up",
     .help = "Whether the last look could open the database; the log says why not.",
     .of_database = [](const Db& db) { return !db.last ? kUnknown : SeenIn(db) != nullptr ? 1.0 : 0.0; }},
    {.name = "rocksieve_db_look_running", .help = "Whether a look is under way.",
     .of_database = [](const Db& db) { return db.looking ? 1.0 : 0.0; }},
    {.name = "rocksieve_db_looks_total", .help = "Looks that have ended, since the exporter began.",
     .of_database = [](const Db& db) { return static_cast<double>(db.looks); }},
    {.name = "rocksieve_db_look_failures_total",
     .help = "Those among them that could not open the database.",
     .of_database = [](const Db& db) { return static_cast<double>(db.failed_looks); }},
    {.name = "rocksieve_db_look_seconds_total", .help = "Time that looks took.",
     .of_database = [](const Db& db) { return db.look_seconds; }},
    {.name = "rocksieve_db_look_read_bytes_total",
     .help = "Bytes that looks read, from the system's cache or not.",
     .of_database = [](const Db& db) { return db.read_bytes; }},
    {.name = "rocksieve_db_last_look_duration_seconds", .help = "Time that the last look took.",
     .of_database = [](const Db& db) { return db.last ? db.last->seconds : kUnknown; }},
    {.name = "rocksieve_db_last_look_read_bytes",
     .help = "Bytes that the last look read, from the system's cache or not.",
     .of_database = [](const Db& db) {
       return db.last ? static_cast<double>(db.last->read_bytes) : kUnknown;
     }},
    {.name = "rocksieve_db_last_look_timestamp_seconds", .help = "When the last look ended.",
     .of_database = [](const Db& db) { return db.last ? db.last->unix_time : kUnknown; }},
    {.name = "rocksieve_db_process_seen",
     .help = "Whether the process that has the database open could be looked into as well.",
     .of_database = [](const Db& db) {
       return SeenIn(db) == nullptr ? kUnknown : SeenIn(db)->process_seen ? 1.0 : 0.0;
     }},
    {.name = "rocksieve_db_finding", .help = "Whether rocksieve doctor has this finding.",
     .from_look = AddFindings},
    {.name = "rocksieve_db_policy_info",
     .help = "1; the label is the filter policy of the OPTIONS file.",
     .from_family = AddPolicy},
    {.name = "rocksieve_db_files", .help = "Table files.", .of_level = "files"},
    {.name = "rocksieve_db_files_without_filter", .help = "Table files that have no filter.",
     .of_level = "files_without_filter"},
    {.name = "rocksieve_db_files_by_filter", .help = "Table files by the kind of their filter.",
     .from_level = AddFilesByFilter},
    {.name = "rocksieve_db_keys",
     .help = "Entries of table files, old versions and tombstones included.",
     .of_level = "keys"},
    {.name = "rocksieve_db_file_bytes", .help = "Bytes of table files.", .of_level = "file_bytes"},
    {.name = "rocksieve_db_filter_bytes", .help = "Bytes of filters.", .of_level = "filter_bytes"},
    // promtool wants bytes for bits.
    {.name = "rocksieve_db_filter_bytes_per_key",
     .help = "Bytes of filters over entries: an eighth of the bits per key.", .of_level = "bits_per_key",
     .scale = 1.0 / 8},
    {.name = "rocksieve_db_auto_budget_bytes",
     .help = "Bytes that rocksieve.auto may give to the filters of the entries that are there.",
     .of_family = "filter_budget_bytes"},
    {.name = "rocksieve_db_predicted_false_positive_rate", .help = "As the filters promise, of 1.",
     .of_level = "predicted_false_positive_rate"},
    {.name = "rocksieve_db_measured_false_positive_rate",
     .help = "Absent keys that the filters passed over those that they were asked for.",
     .of_level = "measured_false_positive_rate"},
    {.name = "rocksieve_db_false_positive_reads_per_absent_lookup",
     .help = "Data blocks that a lookup of an absent key reads needlessly, as measured.",
     .of_family = "expected_useless_reads_per_missing_lookup"},
    {.name = "rocksieve_db_predicted_false_positive_reads_per_absent_lookup",
     .help = "The same, as the filters promise.",
     .of_family = "predicted_useless_reads_per_missing_lookup"},
    {.name = "rocksieve_db_unfiltered_reads_per_absent_lookup",
     .help = "Data blocks that it would read if there were no filters.",
     .of_family = "useless_reads_per_missing_lookup_without_filters"},
};

// Nothing of what is not known.
void AddSamples(const MetricKind& kind, const WatchedDatabase& database, Samples* samples) {
  const auto add_field = [&](const Json& json, const char* field, const Labels& labels) {
    if (field == nullptr || !json[field].is_number()) return;
    samples->push_back({labels, kind.scale * json[field].get<double>()});
  };
  const Labels labels = {{"db", LabelOf(database.directory)}};
  const double value = kind.of_database == nullptr ? kUnknown : kind.of_database(database);
  if (!std::isnan(value)) samples->push_back({labels, value});
  const Look* const look = SeenIn(database);
  if (look == nullptr) return;
  if (kind.from_look != nullptr) kind.from_look(*look, labels, samples);
  for (const Json& family : look->explanation["column_families"]) {
    const Labels of_family = With(labels, "column_family", LabelOf(family["name"]));
    add_field(family, kind.of_family, of_family);
    if (kind.from_family != nullptr) kind.from_family(family, of_family, samples);
    for (const Json& level : family["levels"]) {
      const Labels of_level =
          With(of_family, "level", std::to_string(level["level"].get<int>()));
      add_field(level, kind.of_level, of_level);
      if (kind.from_level != nullptr) kind.from_level(level, of_level, samples);
    }
  }
}

std::vector<Metric> MetricsOf(const std::vector<WatchedDatabase>& databases,
                              double seconds_between_looks) {
  std::vector<Metric> metrics;
  const auto add = [&](const char* name, const char* help, Samples samples) {
    if (samples.empty()) return;
    Metric& metric = metrics.emplace_back();
    metric.name = name;
    metric.help = help;
    metric.type = metric.name.ends_with("_total") ? Metric::Type::kCounter : Metric::Type::kGauge;
    metric.samples = std::move(samples);
  };
  add("rocksieve_exporter_info",
      "1; the labels are the versions of rocksieve and of the RocksDB that it looks with.",
      {{{{"version", ROCKSIEVE_VERSION}, {"rocksdb_version", rocksdb::GetRocksVersionAsString()}},
        1}});
  add("rocksieve_exporter_look_interval_seconds", "Time from the end of a look to the next.",
      {{{}, seconds_between_looks}});
  for (const MetricKind& kind : kMetrics) {
    Samples samples;
    for (const WatchedDatabase& database : databases) AddSamples(kind, database, &samples);
    add(kind.name, kind.help, std::move(samples));
  }
  return metrics;
}

constexpr char kCommand[] = "rocksieve exporter";

// Names in databases, such as those of column families, begin no line of their own, and do nothing
// to a terminal.
std::string InOneLine(const std::string& text) {
  std::string line;
  for (const char c : text) line += std::iscntrl(static_cast<unsigned char>(c)) != 0 ? ' ' : c;
  return line;
}

// In one piece, so that lines of other threads do not get into it.
void Say(const std::string& directory, const std::string& text) {
  const std::string line = std::string(kCommand) + ": " + directory + ": " + text;
  std::cerr << InOneLine(line) + "\n" << std::flush;
}

using Reported = std::map<std::string, std::string>;  // what may come and go: how it is told

Reported ToReport(const Look& look) {
  Reported reported;
  for (const Finding& finding : look.findings) {
    const std::string where =
        finding.column_family.empty() ? "" : " (column family " + finding.column_family + ")";
    reported[std::string(NameOf(finding.severity)) + " " + finding.id + where] =
        finding.title + ". " + finding.remedy;
  }
  return reported;
}

// A database that is down is told each time: what its findings are is not known then.
void Tell(const std::string& directory, const Look* before, const Look& now) {
  if (!now.error.empty()) {
    Say(directory, "down: " + now.error);
    return;
  }
  if (before != nullptr && !before->error.empty()) Say(directory, "up again");
  const Reported old = before == nullptr ? Reported() : ToReport(*before), found = ToReport(now);
  for (const auto& [what, text] : found) {
    if (old.count(what) == 0) Say(directory, what + ": " + text);
  }
  for (const auto& [what, text] : old) {
    if (found.count(what) == 0) Say(directory, "no longer: " + what);
  }
}

}  // namespace

Watch::Watch(const std::vector<std::string>& directories,
             std::chrono::duration<double> between_looks)
    : between_looks_(between_looks), progress_(kCommand) {
  for (const std::string& directory : directories) {
    databases_.emplace_back().directory = directory;
  }
}

void Watch::LookAtAll() {
  for (size_t i = 0; i < databases_.size() && InterruptSignal() == 0; i++) LookAtOne(i);
}

void Watch::LookAtOne(size_t number) {
  std::string directory;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    databases_[number].looking = true;
    directory = databases_[number].directory;
  }
  Look look = LookAt(directory, &progress_);
  progress_.Clear();
  WatchedDatabase& database = databases_[number];
  // Before the lock, for the log may be a pipe that is full; only this thread changes what was
  // last.
  if (!look.interrupted) Tell(directory, database.last ? &*database.last : nullptr, look);
  const std::lock_guard<std::mutex> lock(mutex_);
  database.looking = false;
  if (look.interrupted) return;
  database.looks++;
  database.failed_looks += look.error.empty() ? 0 : 1;
  database.look_seconds += look.seconds;
  database.read_bytes += static_cast<double>(look.read_bytes);
  database.last = std::move(look);
}

void Watch::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Watch::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  do {
    lock.unlock();
    LookAtAll();
    lock.lock();
  } while (!stop_.wait_for(lock, between_looks_, [this] { return stopped_; }));
}

void Watch::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::vector<Metric> Watch::Metrics() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return MetricsOf(databases_, between_looks_.count());
}

}  // namespace rocksieve::tools
