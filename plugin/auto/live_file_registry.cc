#include "plugin/auto/live_file_registry.h"

#include <algorithm>
#include <utility>

#include "plugin/auto/pending_output.h"

namespace rocksieve {
namespace {

// A resync costs some 0.5 us per file, with the database's mutex held.
constexpr int kJobsBetweenResyncs = 64;

// Jobs that never end by an event, since they failed or were cancelled, are forgotten some day.
constexpr size_t kMaxJobs = 256;

}  // namespace

void LiveFileRegistry::BeginJob(const std::string& column_family, int job,
                                const std::vector<uint64_t>& inputs) {
  std::lock_guard<std::mutex> lock(mutex_);
  ColumnFamily& family = families_[column_family];
  if (family.ignored) return;
  family.jobs[job] = {inputs, ++clock_};
  if (family.jobs.size() > kMaxJobs) family.jobs.erase(family.jobs.begin());
  for (const uint64_t input : inputs) {
    if (family.files.count(input) == 0) resync_requested_ = true;
  }
}

void LiveFileRegistry::EndJob(const std::string& column_family, int job,
                              const std::vector<uint64_t>& inputs,
                              const std::vector<uint64_t>& outputs) {
  std::lock_guard<std::mutex> lock(mutex_);
  jobs_since_resync_++;
  ColumnFamily& family = families_[column_family];
  for (const uint64_t input : inputs) {
    if (std::find(outputs.begin(), outputs.end(), input) == outputs.end()) {
      RemoveLocked(&family, input);
    }
  }
  for (auto it = family.files.begin(); it != family.files.end();) {
    Entry& entry = it->second;
    const bool is_output = std::find(outputs.begin(), outputs.end(), it->first) != outputs.end();
    if (is_output) entry.job = 0;
    // An output that came to nothing.
    if (!is_output && job != 0 && entry.job == job) {
      it = family.files.erase(it);
    } else {
      ++it;
    }
  }
  family.jobs.erase(job);
}

void LiveFileRegistry::FailJob(const std::string& column_family, int job) {
  std::lock_guard<std::mutex> lock(mutex_);
  resync_requested_ = true;
  ColumnFamily& family = families_[column_family];
  family.jobs.erase(job);
  for (auto it = family.files.begin(); it != family.files.end();) {
    it = it->second.job == job ? family.files.erase(it) : std::next(it);
  }
}

void LiveFileRegistry::Register(const std::string& column_family, int job,
                                const RegisteredFile& file) {
  std::lock_guard<std::mutex> lock(mutex_);
  ColumnFamily& family = families_[column_family];
  family.ignored = false;
  family.files[file.number] = {file, job, ++clock_};
}

void LiveFileRegistry::Complete(const std::string& column_family, uint64_t number, uint64_t entries,
                                uint64_t filter_keys, double filter_bits, bool is_auto) {
  std::lock_guard<std::mutex> lock(mutex_);
  ColumnFamily& family = families_[column_family];
  if (!is_auto) {
    family = ColumnFamily();
    family.ignored = true;
    return;
  }
  const auto it = family.files.find(number);
  if (it == family.files.end()) {
    // Made without our builder, as for the last level under optimize_filters_for_hits.
    resync_requested_ = true;
    return;
  }
  it->second.file.entries = entries;
  it->second.file.filter_keys = filter_keys;
  it->second.file.filter_bits = filter_bits;
}

void LiveFileRegistry::Remove(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [name, family] : families_) RemoveLocked(&family, number);
}

void LiveFileRegistry::RemoveLocked(ColumnFamily* family, uint64_t number) {
  family->files.erase(number);
  if (resyncing_) removed_while_resyncing_.insert(number);
}

Surroundings LiveFileRegistry::Look(const std::string& column_family, int job,
                                    const RegisteredFile& self, bool complete) const {
  Surroundings around;
  std::vector<RegisteredFile> inputs;
  uint64_t written = self.entries;  // by the job so far
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = families_.find(column_family);
    if (found == families_.end()) return around;
    const ColumnFamily& family = found->second;
    const auto running = family.jobs.find(job);
    std::unordered_set<uint64_t> input_numbers;
    if (running != family.jobs.end()) {
      input_numbers.insert(running->second.inputs.begin(), running->second.inputs.end());
    }
    around.others.reserve(family.files.size());
    for (const auto& [number, entry] : family.files) {
      if (number == self.number) continue;
      if (entry.job == job) written += entry.file.entries;
      (input_numbers.count(number) != 0 ? inputs : around.others).push_back(entry.file);
    }
  }
  AddPendingOutput(inputs, written, self, complete, &around);
  return around;
}

bool LiveFileRegistry::NeedsResync(const std::string& session,
                                   const std::string& column_family) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto family = families_.find(column_family);
  if (family == families_.end() || family->second.ignored) return false;
  return resync_requested_ || !family->second.synced || session != session_ ||
         jobs_since_resync_ >= kJobsBetweenResyncs;
}

void LiveFileRegistry::RequestResync() {
  std::lock_guard<std::mutex> lock(mutex_);
  resync_requested_ = true;
}

bool LiveFileRegistry::BeginResync() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (resyncing_) return false;
  resyncing_ = true;
  resync_requested_ = false;
  resync_clock_ = clock_;
  removed_while_resyncing_.clear();
  return true;
}

void LiveFileRegistry::CancelResync() {
  std::lock_guard<std::mutex> lock(mutex_);
  resyncing_ = false;
  resync_requested_ = true;
  removed_while_resyncing_.clear();
}

bool LiveFileRegistry::Follows(const std::string& column_family) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto family = families_.find(column_family);
  return family != families_.end() && !family->second.ignored;
}

std::unordered_map<uint64_t, RegisteredFile> LiveFileRegistry::Known(
    const std::vector<uint64_t>& numbers) const {
  std::unordered_map<uint64_t, RegisteredFile> known;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const uint64_t number : numbers) {
    for (const auto& [name, family] : families_) {
      const auto it = family.files.find(number);
      if (it != family.files.end()) known[number] = it->second.file;
    }
  }
  return known;
}

void LiveFileRegistry::Replace(const std::string& session, std::vector<LiveFile> live) {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool reopened = session != session_;
  for (auto& [name, family] : families_) {
    family.synced = true;
    for (auto it = family.files.begin(); it != family.files.end();) {
      const Entry& entry = it->second;
      // Outputs of running jobs are not listed yet.
      const bool keep = entry.clock > resync_clock_ ||
                        (entry.job != 0 && !reopened && family.jobs.count(entry.job) != 0);
      it = keep ? std::next(it) : family.files.erase(it);
    }
    if (!reopened) continue;
    for (auto it = family.jobs.begin(); it != family.jobs.end();) {
      it = it->second.clock > resync_clock_ ? std::next(it) : family.jobs.erase(it);
    }
  }
  for (LiveFile& listed : live) {
    const uint64_t number = listed.file.number;
    if (removed_while_resyncing_.count(number) != 0) continue;
    const auto found = families_.find(listed.column_family);
    if (found == families_.end() || found->second.ignored) continue;
    ColumnFamily& family = found->second;
    const auto it = family.files.find(number);
    if (it != family.files.end()) {
      it->second.job = 0;
    } else {
      family.files[number] = {std::move(listed.file), 0, resync_clock_};
    }
  }
  for (auto it = families_.begin(); it != families_.end();) {
    const ColumnFamily& family = it->second;
    const bool empty = family.files.empty() && family.jobs.empty() && !family.ignored;
    it = empty ? families_.erase(it) : std::next(it);
  }
  session_ = session;
  jobs_since_resync_ = 0;
  resyncing_ = false;
  removed_while_resyncing_.clear();
}

size_t LiveFileRegistry::file_count() const {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t count = 0;
  for (const auto& [name, family] : families_) count += family.files.size();
  return count;
}

}  // namespace rocksieve
