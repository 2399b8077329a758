// SPDX-License-Identifier: Apache-2.0
// Samples what the filters of a policy are asked: absent keys, and whether their false positives
// read blocks.
//
// Of the keys that one thread looks up one after the other, those with one in 64 of all hashes
// are listened to, in all files in which they are asked for, and every sixteenth query about them
// is remembered until the thread asks for another such key. If no filter has passed it until then,
// it was absent, or nearly so: it goes into the sample. When a filter has passed such a key, the
// thread's next query is listened to as well. If nothing was found by then, by RocksDB's count of
// bytes, it was a false positive.
//
// Keys of MultiGet() are not sampled. Those of salted filters have other hashes in each, so that
// present keys, too, are taken for absent in files where they are not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

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

  // Absent keys in the sample, as far as they come from different queries.
  size_t absent_count() const { return absent_count_.load(std::memory_order_relaxed); }

  // Begins a new sample.
  HeardLookups Take();

 private:
  friend struct ListeningThread;

  void AddAbsent(std::string_view key);
  void AddPassed(HeardLookups::Passed passed);

  std::mutex mutex_;
  HeardLookups heard_;                                 // but for false positives; guarded by mutex_
  std::vector<HeardLookups::Passed> false_positives_;  // guarded by mutex_
  uint64_t absent_seen_ = 0, found_seen_ = 0, false_seen_ = 0;  // guarded by mutex_
  uint64_t random_ = 0x9E3779B97F4A7C15;                        // guarded by mutex_
  std::atomic<size_t> absent_count_{0};
};

}  // namespace rocksieve
