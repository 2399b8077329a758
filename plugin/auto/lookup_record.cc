// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/lookup_record.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rocksieve {
namespace {

constexpr size_t kMostStretches = 16;
constexpr uint64_t kStretchesOfTree = 8;
constexpr size_t kFewestAbsent = 128;
// Seen false positives are few, so that they are kept longer than their stretch.
constexpr size_t kMostOldPositives = 256;

// Forgets the first stretch, but for its false positives, which become the next one's.
void ForgetFirst(std::deque<HeardLookups>* stretches) {
  std::vector<HeardLookups::Passed> kept;
  for (HeardLookups::Passed& passed : stretches->front().passed) {
    if (!passed.was_found) kept.push_back(std::move(passed));
  }
  if (kept.size() > kMostOldPositives) {
    kept.erase(kept.begin(), kept.end() - static_cast<ptrdiff_t>(kMostOldPositives));
  }
  stretches->pop_front();
  std::vector<HeardLookups::Passed>& next = stretches->front().passed;
  next.insert(next.begin(), kept.begin(), kept.end());
}

}  // namespace

std::shared_ptr<const LookupDensity> LookupRecord::Density(const std::vector<BudgetedFile>& files) {
  uint64_t keys = 0;
  for (const BudgetedFile& file : files) keys += file.filter_keys;
  std::lock_guard<std::mutex> lock(mutex_);
  if (keys_built_.load(std::memory_order_relaxed) < keys / kStretchesOfTree ||
      sampler_->absent_count() < kFewestAbsent) {
    return density_;
  }
  keys_built_.store(0, std::memory_order_relaxed);
  stretches_.push_back(sampler_->Take());
  std::vector<std::string>& absent_keys = stretches_.back().absent_keys;
  std::sort(absent_keys.begin(), absent_keys.end());
  if (stretches_.size() > kMostStretches) ForgetFirst(&stretches_);
  density_ = LookupDensity::Learn(files, stretches_);
  return density_;
}

}  // namespace rocksieve
