// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/lookup_sampler.h"

#include <cstring>
#include <string>
#include <utility>

#include "plugin/auto/thread_reads.h"

namespace rocksieve {

// Of bits that no family takes for themselves: the keys that are listened to are like all.
constexpr uint64_t kUnheardHashes = uint64_t{63} << 4;
constexpr uint32_t kRefusalsBetween = 4;
// After a key that was found. False positives are all heard, unless there are so many that they are
// something else, such as keys with empty values: one for fewer heard refusals than this.
constexpr uint32_t kPassedBetween = 4;
constexpr uint32_t kLeastRefusals = 4;
// Longer keys are not sampled; nor is more of a sample kept than this.
constexpr size_t kMostKeyBytes = 256;
constexpr size_t kMostAbsent = 512, kMostPassed = 256;

__thread uint64_t unheard_hashes = kUnheardHashes;

// What a thread remembers of its last queries. A sampler's address may come to be another one's:
// that gets a key that it was not asked for, which does no harm.
struct ListeningThread {
  struct Key {
    const LookupSampler* sampler = nullptr;  // null: there is none
    uint64_t hash = 0;
    size_t size = 0;
    char bytes[kMostKeyBytes];

    void Set(const LookupSampler* asked, std::string_view key, uint64_t key_hash) {
      if (key.size() > kMostKeyBytes) return;
      sampler = asked;
      hash = key_hash;
      size = key.size();
      std::memcpy(bytes, key.data(), size);
    }
    std::string_view view() const { return {bytes, size}; }
  };
  Key refused, passed;
  ThreadReads reads_before;  // the key that was passed
  uint32_t passed_until_heard = 0;
  uint32_t refusals = 0;
  uint32_t refusals_before = 0;  // the key that was passed last

  void LearnWhatPassedMeant(LookupSampler* sampler);
};

static thread_local ListeningThread this_thread;

// Called before the next query of the thread that is listened to.
void ListeningThread::LearnWhatPassedMeant(LookupSampler* sampler) {
  if (passed.sampler == nullptr) return;
  unheard_hashes = kUnheardHashes;
  const bool is_own = std::exchange(passed.sampler, nullptr) == sampler;
  const ThreadReads now = ThreadReads::Now();
  const bool was_found = now.found_bytes != reads_before.found_bytes;
  const uint32_t refused_since = refusals - std::exchange(refusals_before, refusals);
  if (was_found || refused_since < kLeastRefusals) passed_until_heard = kPassedBetween;
  const bool was_read = now.data_blocks_read > reads_before.data_blocks_read;
  const bool was_cached = now.blocks_from_cache > reads_before.blocks_from_cache;
  // Neither: nothing is counted, or RocksDB forgot its counts meanwhile.
  if (is_own && (was_read || was_cached)) {
    sampler->AddPassed({std::string(passed.view()), was_found, was_read});
  }
}

void LookupSampler::Hear(std::string_view key, uint64_t hash, bool passed) {
  ListeningThread& thread = this_thread;
  thread.LearnWhatPassedMeant(this);
  if ((hash & kUnheardHashes) != 0) return;  // this was all
  bool is_same = false;
  if (thread.refused.sampler == this) {
    is_same = thread.refused.hash == hash;
    if (!is_same) AddAbsent(thread.refused.view());
    if (!is_same || passed) thread.refused.sampler = nullptr;
  }
  if (!passed) {
    if (!is_same && ++thread.refusals % kRefusalsBetween == 0) thread.refused.Set(this, key, hash);
  } else if (thread.passed_until_heard > 0) {
    thread.passed_until_heard--;
  } else {
    thread.passed.Set(this, key, hash);
    thread.reads_before = ThreadReads::Now();
    unheard_hashes = 0;
  }
}

// Every one of those that were seen is in the sample with the same probability.
template <typename T>
static void AddToSample(std::vector<T>* sample, size_t most, uint64_t* seen, uint64_t* random,
                        T value) {
  ++*seen;
  if (sample->size() < most) {
    sample->push_back(std::move(value));
    return;
  }
  *random ^= *random << 13;
  *random ^= *random >> 7;
  *random ^= *random << 17;
  const uint64_t place = *random % *seen;
  if (place < most) (*sample)[place] = std::move(value);
}

void LookupSampler::AddAbsent(std::string_view key) {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  AddToSample(&heard_.absent_keys, kMostAbsent, &absent_seen_, &random_, std::string(key));
  absent_count_.store(heard_.absent_keys.size(), std::memory_order_relaxed);
}

void LookupSampler::AddPassed(HeardLookups::Passed passed) {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (passed.was_found) {
    AddToSample(&heard_.passed, kMostPassed, &found_seen_, &random_, std::move(passed));
  } else {
    AddToSample(&false_positives_, kMostPassed, &false_seen_, &random_, std::move(passed));
  }
}

HeardLookups LookupSampler::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  absent_seen_ = found_seen_ = false_seen_ = 0;
  absent_count_.store(0, std::memory_order_relaxed);
  heard_.passed.insert(heard_.passed.end(), false_positives_.begin(), false_positives_.end());
  false_positives_.clear();
  return std::exchange(heard_, HeardLookups());
}

}  // namespace rocksieve
