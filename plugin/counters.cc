// SPDX-License-Identifier: Apache-2.0
#include "plugin/counters.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "plugin/exporter/start.h"

#ifndef ROCKSIEVE_LIBRARY_SUFFIX  // RocksDB's own build
#define ROCKSIEVE_LIBRARY_SUFFIX ".so"
#endif

namespace rocksieve {

void AddTo(FiltersBuilt* sum, const FiltersBuilt& built) {
  sum->filters += built.filters;
  sum->keys += built.keys;
  sum->bytes += built.bytes;
  sum->build_seconds += built.build_seconds;
}

void Counters::CountBuilt(const FiltersBuilt& built, double saturated_fraction) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    FiltersBuilt& row = built_[{built.family, built.level}];
    row.family = built.family;
    row.level = built.level;
    AddTo(&row, built);
  }
  if (saturated_fraction == 0) return;
  if (incomplete_.fetch_add(1, std::memory_order_relaxed) != 0) return;
  ReportOnce("rocksieve: some of " + std::to_string(built.keys) +
             " keys could not be placed in their filter, which answers \"may match\" to " +
             std::to_string(100 * saturated_fraction) +
             " % of all others; no key is lost. Only keys that were chosen for it do that: a spec "
             "with :salted defeats them. Reported once per filter policy; "
             "rocksieve::GetFilterStats counts them all.");
}

void Counters::CountUnreadable(std::atomic<uint64_t>* counter, const char* what) {
  // The counter says whether a message is due, so that the text is made only once.
  if (counter->fetch_add(1, std::memory_order_relaxed) != 0) return;
  ReportOnce(std::string("rocksieve: a filter block ") + what +
             "; its file is read without a filter, no key is lost. Compacting the file makes a new "
             "filter. Reported once per filter policy; rocksieve::GetFilterStats counts them all.");
}

void Counters::ReportOnce(const std::string& message) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (reported_) return;
  reported_ = true;
  if (!logs_.empty()) {
    rocksdb::Warn(logs_.back(), "%s", message.c_str());
  } else {
    std::fprintf(stderr, "%s\n", message.c_str());
    unlogged_ = message;
  }
}

FilterStats Counters::stats() const {
  FilterStats stats;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [place, row] : built_) stats.built.push_back(row);
  }
  for (const FiltersBuilt& row : stats.built) {
    stats.filters_built += row.filters;
    stats.keys_added += row.keys;
    stats.bytes_built += row.bytes;
  }
  stats.incomplete_filters_built = incomplete_.load(std::memory_order_relaxed);
  stats.filters_opened = filters_opened_.load(std::memory_order_relaxed);
  stats.foreign_filters_opened = foreign_.load(std::memory_order_relaxed);
  stats.damaged_filters = damaged_.load(std::memory_order_relaxed);
  stats.future_filters = future_.load(std::memory_order_relaxed);
  return stats;
}

void Counters::AddLog(rocksdb::Logger* log) {
  if (log == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  logs_.push_back(log);
  if (!unlogged_.empty()) rocksdb::Warn(log, "%s", unlogged_.c_str());
  unlogged_.clear();
}

void Counters::RemoveLog(rocksdb::Logger* log) {
  if (log == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  logs_.erase(std::find(logs_.begin(), logs_.end(), log));
}

namespace {

constexpr char kVariable[] = "ROCKSIEVE_METRICS";
constexpr char kExporter[] = "librocksieve_exporter" ROCKSIEVE_LIBRARY_SUFFIX;

// Where the plugin is, with a slash at the end; empty if it is part of a program.
std::string OwnDirectory() {
  static const char inside = 0;
  Dl_info info;
  if (dladdr(&inside, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  if (path.find(".so") == std::string::npos) return "";
  return path.substr(0, path.rfind('/') + 1);
}

void* LoadExporter(std::string* error) {
  const std::string directory = OwnDirectory();
  for (const std::string& path : {directory + kExporter, std::string(kExporter)}) {
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    if (error->empty()) *error = dlerror();
  }
  *error += "; install " + std::string(kExporter) + " (of rocksieve, built with prometheus-cpp) " +
            (directory.empty() ? std::string("where libraries are") : "in " + directory);
  return nullptr;
}

void CollectOfProcess(std::vector<Metric>* metrics) {
  if (ProcessMetrics* const process = ProcessMetrics::IfWanted()) *metrics = process->Collect();
}

void AddTo(FilterStats* sum, const FilterStats& stats) {
  for (const FiltersBuilt& built : stats.built) {
    const auto place = std::make_pair(built.family, built.level);
    auto row =
        std::lower_bound(sum->built.begin(), sum->built.end(), place,
                         [](const FiltersBuilt& other, const std::pair<std::string, int>& wanted) {
                           return std::make_pair(other.family, other.level) < wanted;
                         });
    if (row == sum->built.end() || row->family != built.family || row->level != built.level) {
      row = sum->built.insert(row, FiltersBuilt());
      row->family = built.family;
      row->level = built.level;
    }
    AddTo(&*row, built);
  }
  sum->filters_built += stats.filters_built;
  sum->keys_added += stats.keys_added;
  sum->bytes_built += stats.bytes_built;
  sum->incomplete_filters_built += stats.incomplete_filters_built;
  sum->filters_opened += stats.filters_opened;
  sum->foreign_filters_opened += stats.foreign_filters_opened;
  sum->damaged_filters += stats.damaged_filters;
  sum->future_filters += stats.future_filters;
}

void AddTo(TickerCounts* sum, const TickerCounts& counts) {
  for (size_t i = 0; i < counts.size(); i++) (*sum)[i] += counts[i];
}

}  // namespace

ProcessMetrics* ProcessMetrics::IfWanted() {
  static ProcessMetrics* const wanted = [] {
    const char* const target = secure_getenv(kVariable);
    return target == nullptr || target[0] == '\0' ? nullptr : new ProcessMetrics(target);
  }();
  return wanted;
}

void ProcessMetrics::AddPolicy(const std::string& spec, std::shared_ptr<const Counters> counters) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    RetireUnused();
    policies_[spec].living.push_back(std::move(counters));
  }
  std::call_once(started_, [this] { StartExporter(); });
}

void ProcessMetrics::AddStatistics(const std::shared_ptr<rocksdb::Statistics>& statistics) {
  if (statistics == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  RetireUnused();
  any_statistics_ = true;
  if (std::find(statistics_.begin(), statistics_.end(), statistics) == statistics_.end()) {
    statistics_.push_back(statistics);
  }
}

std::vector<Metric> ProcessMetrics::Collect() {
  std::vector<PolicyReading> policies;
  std::vector<TickerReading> tickers;
  std::lock_guard<std::mutex> lock(mutex_);
  RetireUnused();
  for (const auto& [spec, counted] : policies_) {
    FilterStats stats = counted.retired;
    for (const auto& counters : counted.living) AddTo(&stats, counters->stats());
    policies.push_back({{{"spec", spec}}, spec, std::move(stats)});
  }
  if (any_statistics_) {
    TickerCounts counts = retired_tickers_;
    for (const auto& statistics : statistics_) AddTo(&counts, ReadTickers(*statistics));
    tickers.push_back({{}, counts});
  }
  return MetricsOf(policies, tickers);
}

void ProcessMetrics::StartExporter() const {
  std::string error;
  if (void* const library = LoadExporter(&error)) {
    const auto start =
        reinterpret_cast<StartProcessExporter*>(dlsym(library, kStartProcessExporter));
    if (start == nullptr) {
      error = std::string(kExporter) + " is of another version; install both anew";
    } else {
      start(target_.c_str(), CollectOfProcess, &error);
    }
  }
  if (error.empty()) return;
  std::fprintf(stderr, "rocksieve: %s=%s: the program runs on without metrics: %s\n", kVariable,
               target_.c_str(), error.c_str());
}

// REQUIRES: mutex_ is held. Nobody else can get hold of what only we have.
void ProcessMetrics::RetireUnused() {
  for (auto& [spec, counted] : policies_) {
    auto& living = counted.living;
    for (size_t i = living.size(); i-- > 0;) {
      if (living[i].use_count() > 1) continue;
      AddTo(&counted.retired, living[i]->stats());
      living.erase(living.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  for (size_t i = statistics_.size(); i-- > 0;) {
    if (statistics_[i].use_count() > 1) continue;
    AddTo(&retired_tickers_, ReadTickers(*statistics_[i]));
    statistics_.erase(statistics_.begin() + static_cast<ptrdiff_t>(i));
  }
}

}  // namespace rocksieve
