// SPDX-License-Identifier: Apache-2.0
// Where lookups of absent keys went while a tree was rewritten, for the filters that come next.
//
// Time is counted in what is built: a stretch ends when an eighth of the tree's keys went into new
// filters, and enough was heard. The last sixteen stretches are kept. Nothing is kept over a
// restart of the program.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/budget/lookup_density.h"
#include "plugin/auto/lookup_sampler.h"

namespace rocksieve {

// Thread-safe. Of one tree.
class LookupRecord {
 public:
  const std::shared_ptr<LookupSampler>& sampler() const { return sampler_; }

  // A filter of so many keys was built.
  void CountBuilt(uint64_t keys) { keys_built_.fetch_add(keys, std::memory_order_relaxed); }

  // Null as long as lookups are taken for even. `files`: the tree as it will be. Takes some
  // milliseconds when a stretch ends.
  std::shared_ptr<const LookupDensity> Density(const std::vector<BudgetedFile>& files);

 private:
  const std::shared_ptr<LookupSampler> sampler_ = std::make_shared<LookupSampler>();
  std::atomic<uint64_t> keys_built_{0};  // in this stretch
  std::mutex mutex_;
  std::deque<HeardLookups> stretches_;            // guarded by mutex_
  std::shared_ptr<const LookupDensity> density_;  // guarded by mutex_
};

}  // namespace rocksieve
