// SPDX-License-Identifier: Apache-2.0
// Samples what the filters of a policy are asked: absent keys, and whether their false positives
// read blocks.
//
// Of the keys that a thread looks up, those with one in 64 of all hashes are listened to, in all
// files in which they are asked for. A lookup asks one file after the other until it finds the key,
// Get() for one key and MultiGet() for those of its batch that it has not found yet. So a key that
// a filter refuses is remembered, one of four times, until nothing more can be asked for it: absent
// or nearly so, unless a filter has passed it meanwhile, it goes into the sample.
//
// When a filter has passed such a key, all queries of the thread are listened to until data blocks
// were accessed: those of the key, or of its batch. RocksDB's counts of the thread say whether they
// came from the storage. If nothing was found by then, by RocksDB's count of bytes, it was a false
// positive. MultiGet() counts bytes when it is done, which nothing tells: there it takes a key for
// a false positive if it is asked for again, or if nothing was found for a while.
//
// The keys of salted filters have other hashes in each, so that present keys, too, are taken for
// absent in files where they are not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <rocksdb/slice.h>

#include "lib/budget/lookup_density.h"

namespace rocksieve {

// In the thread's static memory, where it takes a fraction of a nanosecond, and without C++'s
// function that would make it first: hashes without these bits are listened to.
extern __thread uint64_t unheard_hashes
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Thread-safe. Waits for no lock: what comes while another thread has it is not sampled.
class LookupSampler {
 public:
  // Whether Hear() is to be told of a query with this hash.
  static bool Listens(uint64_t hash) { return __builtin_expect((hash & unheard_hashes) == 0, 0); }
  // `passed`: by the filter.
  void Hear(std::string_view key, uint64_t hash, bool passed);

  // Which keys of a batch are listened to.
  class HeardKeys {
   public:
    // At most 64 in turn.
    void Add(uint64_t hash) { bits_ = 2 * bits_ + ((hash & unheard_) == 0 ? 1 : 0); }
    bool any() const { return bits_ != 0; }

   private:
    friend class LookupSampler;
    uint64_t unheard_ = unheard_hashes;
    uint64_t bits_ = 0;  // the lowest one of the last
  };
  // The same for a batch of `count` keys of which one filter was asked. REQUIRES: heard.any()
  void HearBatch(const HeardKeys& heard, const rocksdb::Slice* const* keys, const uint64_t* hashes,
                 const bool* passed, int count);

  // Absent keys in the sample, as far as they come from different queries.
  size_t absent_count() const { return absent_count_.load(std::memory_order_relaxed); }

  // Begins a new sample.
  HeardLookups Take();

 private:
  friend class ListeningThread;

  void AddAbsent(std::string_view key);
  void AddPassed(std::string_view key, bool was_found, bool was_read);

  std::mutex mutex_;
  HeardLookups heard_;                                 // but for false positives; guarded by mutex_
  std::vector<HeardLookups::Passed> false_positives_;  // guarded by mutex_
  uint64_t absent_seen_ = 0, found_seen_ = 0, false_seen_ = 0;  // guarded by mutex_
  uint64_t random_ = 0x9E3779B97F4A7C15;                        // guarded by mutex_
  std::atomic<size_t> absent_count_{0};
};

// Where lookups of absent keys went while a tree was rewritten, for the filters that come next.
//
// Time is counted in what is built: a stretch ends when an eighth of the tree's keys went into new
// filters, and enough was heard. The last sixteen stretches are kept. Nothing is kept over a
// restart of the program.

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
