// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/live_file_registry.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "lib/budget/lookup_weights.h"

namespace rocksieve {

void AddPendingOutput(const std::vector<RegisteredFile>& inputs, std::vector<WrittenRange> written,
                      bool begins_later, const RegisteredFile& self, bool complete,
                      Surroundings* around) {
  if (inputs.empty()) return;
  std::sort(written.begin(), written.end(),
            [](const WrittenRange& a, const WrittenRange& b) { return a.smallest < b.smallest; });
  std::vector<std::string_view> keys;
  double total = 0, filtered = 0;
  for (const RegisteredFile& input : inputs) {
    const std::string_view from = input.range->smallest, to = input.range->largest;
    keys.insert(keys.end(), {std::min(from, to), std::max(from, to)});
    // In another order than the bytewise one, what comes first here may be written last.
    begins_later = begins_later || to < from;
    total += static_cast<double>(input.entries);
    if (input.policy_id != 0) filtered += static_cast<double>(input.entries);
  }
  const auto [least, most] = std::minmax_element(keys.begin(), keys.end());
  const std::string_view begin = *least, end = *most;
  for (const WrittenRange& its : written) {
    keys.insert(keys.end(), {its.smallest, its.largest});
  }
  const KeyScale scale(keys);
  std::vector<double> places;  // of the ends of inputs
  for (size_t i = 0; i < 2 * inputs.size(); i++) places.push_back(scale.PositionOf(keys[i]));
  // Entries of the inputs up to this key. Where keys are not equal, their places may be.
  const auto up_to = [&](std::string_view key) {
    const double here = scale.PositionOf(key);
    double entries = 0;
    for (size_t i = 0; i < inputs.size(); i++) {
      const double from = places[2 * i], to = places[2 * i + 1];
      const double share = here > to || (here == to && keys[2 * i + 1] <= key) ? 1
                           : here < from || keys[2 * i] > key                  ? 0
                           : to > from ? (here - from) / (to - from)
                                       : 0.5;
      entries += share * static_cast<double>(inputs[i].entries);
    }
    return entries;
  };
  // Of the inputs: those before each range that was written, and those after the last one.
  std::vector<double> gaps;
  double done = 0, consumed = 0, came_out = 0;
  for (const WrittenRange& its : written) {
    // Nothing is to come before the first, but by a thread that is late.
    const bool is_done = gaps.empty() && !begins_later;
    const double from = is_done ? 0 : std::max(done, up_to(its.smallest));
    gaps.push_back(from - done);
    done = std::max(from, up_to(its.largest));
    consumed += done - from;
    came_out += static_cast<double>(its.entries);
  }
  gaps.push_back(total - done);
  // Overwritten and deleted entries do not come out again. At the beginning little is known of how
  // many there are.
  const double surviving = consumed > 0.05 * total ? std::clamp(came_out / consumed, 0.2, 1.0) : 1;
  // A last level without filters (optimize_filters_for_hits) gets none again.
  const bool has_filter = !written.empty() || 2 * filtered > total;
  for (size_t i = 0; i < gaps.size(); i++) {
    const auto rest = static_cast<uint64_t>(surviving * gaps[i]);
    const std::string_view from = i == 0 ? begin : written[i - 1].largest;
    const std::string_view to = i == written.size() ? end : written[i].smallest;
    if (rest == 0 || to <= from) continue;
    if (!complete && from == self.range->largest) {
      around->entries_to_come = rest;
      around->largest_to_come = to;
      continue;
    }
    RegisteredFile file;
    file.range = std::make_shared<const UserKeyRange>(
        UserKeyRange{std::string(from) + '\0', std::string(to)});
    file.entries = file.filter_keys = rest;
    file.policy_id = has_filter ? self.policy_id : 0;
    if (!has_filter) file.filter_bits = 0;
    around->others.push_back(std::move(file));
  }
}

namespace {

// std::erase_if() of C++20.
template <typename Map, typename Condition>
void EraseIf(Map& map, Condition condition) {
  for (auto it = map.begin(); it != map.end();) it = condition(*it) ? map.erase(it) : std::next(it);
}

// A resync costs some 0.5 us per file, with the database's mutex held.
constexpr int kJobsBetweenResyncs = 64;

// Jobs that never end by an event, since they failed or were cancelled, are forgotten some day.
constexpr size_t kMaxJobs = 256;

thread_local FileContext last_announced;

}  // namespace

void SetFileContext(FileContext file_context) { last_announced = std::move(file_context); }

FileContext TakeFileContext() { return std::exchange(last_announced, FileContext()); }

void LiveFileRegistry::BeginJob(const std::string& column_family, int job,
                                const std::vector<uint64_t>& inputs, const std::string& session) {
  std::lock_guard<std::mutex> lock(mutex_);
  ColumnFamily& family = families_[column_family];
  if (family.ignored) return;
  // No file is in two compactions: one that had some of these has ended without an event.
  const std::unordered_set<uint64_t> taken(inputs.begin(), inputs.end());
  for (auto it = family.jobs.begin(); it != family.jobs.end();) {
    const std::vector<uint64_t>& its = it->second.inputs;
    const bool has_ended = std::any_of(its.begin(), its.end(),
                                       [&](uint64_t input) { return taken.count(input) != 0; });
    if (has_ended) EraseFilesOf(it->first, &family.files);
    it = has_ended ? family.jobs.erase(it) : std::next(it);
  }
  family.jobs[job] = {inputs, ++clock_, session, {}};
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
  for (const uint64_t output : outputs) {
    const auto it = family.files.find(output);
    if (it == family.files.end()) continue;
    it->second.job = 0;
    it->second.clock = ++clock_;  // a resync that goes on may have listed the files before
  }
  // Outputs that came to nothing.
  if (job != 0) EraseFilesOf(job, &family.files);
  family.jobs.erase(job);
}

void LiveFileRegistry::EraseFilesOf(int job, std::unordered_map<uint64_t, Entry>* files) {
  EraseIf(*files, [job](const auto& file) { return file.second.job == job; });
}

void LiveFileRegistry::FailJob(const std::string& column_family, int job) {
  std::lock_guard<std::mutex> lock(mutex_);
  resync_requested_ = true;
  ColumnFamily& family = families_[column_family];
  family.jobs.erase(job);
  EraseFilesOf(job, &family.files);
}

void LiveFileRegistry::BeginFile(const std::string& column_family, int job, uint64_t writer) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto family = families_.find(column_family);
  if (family == families_.end()) return;
  const auto running = family->second.jobs.find(job);
  if (running != family->second.jobs.end()) running->second.writers.insert(writer);
}

void LiveFileRegistry::Register(const std::string& column_family, int job,
                                const RegisteredFile& file) {
  std::lock_guard<std::mutex> lock(mutex_);
  ColumnFamily& family = families_[column_family];
  family.ignored = false;
  family.files[file.number] = {file, job, ++clock_};
}

void LiveFileRegistry::Complete(const std::string& column_family, const RegisteredFile& file,
                                bool is_auto) {
  std::lock_guard<std::mutex> lock(mutex_);
  ColumnFamily& family = families_[column_family];
  if (!is_auto) {
    family = ColumnFamily();
    family.ignored = true;
    return;
  }
  const auto it = family.files.find(file.number);
  if (it == family.files.end()) {
    // Made without our builder, as for the last level under optimize_filters_for_hits.
    resync_requested_ = true;
    return;
  }
  it->second.file.entries = file.entries;
  it->second.file.filter_keys = file.filter_keys;
  it->second.file.filter_bits = file.filter_bits;
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
  struct Compaction {
    std::vector<RegisteredFile> inputs, outputs;
    std::unordered_set<uint64_t> writers;
  };
  std::map<int, Compaction> running;
  Surroundings around;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = families_.find(column_family);
    if (found == families_.end()) return around;
    const ColumnFamily& family = found->second;
    std::unordered_map<uint64_t, int> job_of_input;
    for (const auto& [number, its] : family.jobs) {
      // What writes no files (trivial moves, deletions) only looks like a compaction.
      if (its.inputs.empty() || (its.writers.empty() && number != job)) continue;
      running[number].writers = its.writers;
      for (const uint64_t input : its.inputs) job_of_input[input] = number;
    }
    around.others.reserve(family.files.size());
    for (const auto& [number, entry] : family.files) {
      if (number == self.number) continue;
      const double bits = std::max(0.0, entry.file.filter_bits);
      const auto replaced = job_of_input.find(number);
      const auto written = running.find(entry.job);
      if (replaced != job_of_input.end()) {
        running[replaced->second].inputs.push_back(entry.file);
        around.freed_bits += bits;
      } else {
        around.others.push_back(entry.file);
      }
      if (written == running.end()) continue;
      written->second.outputs.push_back(entry.file);
      around.freed_bits -= bits;
    }
  }
  for (auto& [number, compaction] : running) {
    if (number == job) compaction.outputs.push_back(self);
    std::unordered_map<uint64_t, WrittenRange> written;  // by writer
    for (const RegisteredFile& output : compaction.outputs) {
      const std::string_view from = output.range->smallest, to = output.range->largest;
      WrittenRange& its = written.insert({output.writer, {from, from, 0}}).first->second;
      its.smallest = std::min({its.smallest, from, to});
      its.largest = std::max({its.largest, from, to});
      its.entries += output.entries;
      compaction.writers.erase(output.writer);
    }
    std::vector<WrittenRange> ranges;
    for (const auto& [writer, its] : written) ranges.push_back(its);
    AddPendingOutput(compaction.inputs, std::move(ranges), !compaction.writers.empty(), self,
                     complete || number != job, &around);
  }
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

void LiveFileRegistry::Replace(const std::string& session, FilesByColumnFamily live) {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool reopened = session != session_;
  for (auto& [name, family] : families_) {
    family.synced = true;
    // What began before the database was closed. The job that asks for the resync is none of these.
    if (reopened) {
      EraseIf(family.jobs, [&](const auto& job) {
        return job.second.clock <= resync_clock_ && job.second.session != session;
      });
    }
    // Outputs of running jobs are not listed yet.
    EraseIf(family.files, [&, &jobs = family.jobs](const auto& file) {
      const Entry& entry = file.second;
      const auto job = jobs.find(entry.job);
      const bool running =
          entry.job != 0 && job != jobs.end() && (!reopened || entry.clock > job->second.clock);
      return entry.clock <= resync_clock_ && !running;
    });
  }
  for (auto& [name, files] : live) {
    const auto found = families_.find(name);
    if (found == families_.end() || found->second.ignored) continue;
    ColumnFamily& family = found->second;
    for (RegisteredFile& file : files) {
      const uint64_t number = file.number;
      if (removed_while_resyncing_.count(number) != 0) continue;
      const auto it = family.files.find(number);
      if (it != family.files.end()) {
        it->second.job = 0;
      } else {
        family.files[number] = {std::move(file), 0, resync_clock_};
      }
    }
  }
  EraseIf(families_, [](const auto& entry) {
    const ColumnFamily& family = entry.second;
    return family.files.empty() && family.jobs.empty() && !family.ignored;
  });
  session_ = session;
  jobs_since_resync_ = 0;
  resyncing_ = false;
  removed_while_resyncing_.clear();
}

}  // namespace rocksieve
