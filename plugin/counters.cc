// SPDX-License-Identifier: Apache-2.0
#include "plugin/counters.h"

#include <algorithm>
#include <cstdio>

namespace rocksieve {

void Counters::CountBuilt(const FiltersBuilt& built, double saturated_fraction) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    FiltersBuilt& row = built_[{built.family, built.level}];
    row.family = built.family;
    row.level = built.level;
    row.filters += built.filters;
    row.keys += built.keys;
    row.bytes += built.bytes;
    row.build_seconds += built.build_seconds;
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

}  // namespace rocksieve
