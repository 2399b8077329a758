// SPDX-License-Identifier: Apache-2.0
#include "plugin/auto/lookup_sampler.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <rocksdb/perf_context.h>

namespace rocksieve {

// What RocksDB counts of the blocks that a thread reads, at its usual PerfLevel.
struct ThreadReads {
  uint64_t data_blocks_read = 0;        // from the storage
  uint64_t data_blocks_from_cache = 0;  // dictionaries of compression, too
  uint64_t found_bytes = 0;             // values of lookups, entries of iterators
};

namespace {

// As SstFileReader (listener.cc), a RocksDB that is linked statically may be without it.
#ifndef ROCKSIEVE_IN_TREE
extern "C" rocksdb::PerfContext* ThreadPerfContext() __asm__("_ZN7rocksdb16get_perf_contextEv")
    __attribute__((weak, visibility("default")));
rocksdb::PerfContext* PerfContextIfAny() {
  return &ThreadPerfContext == nullptr ? nullptr : ThreadPerfContext();
}
#else
rocksdb::PerfContext* PerfContextIfAny() { return rocksdb::get_perf_context(); }
#endif

// All 0 where this RocksDB keeps no such counts.
ThreadReads ReadsNow() {
  ThreadReads now;
  const rocksdb::PerfContext* const perf = PerfContextIfAny();
  if (perf == nullptr) return now;
  now.data_blocks_read =
      perf->block_read_count - perf->index_block_read_count - perf->filter_block_read_count;
  now.data_blocks_from_cache = perf->block_cache_hit_count - perf->block_cache_index_hit_count -
                               perf->block_cache_filter_hit_count;
  now.found_bytes = perf->get_read_bytes + perf->multiget_read_bytes + perf->iter_read_bytes;
  return now;
}

}  // namespace

// Of bits that no family takes for themselves: the keys that are listened to are like all.
constexpr uint64_t kUnheardHashes = uint64_t{63} << 4;
constexpr uint32_t kRefusalsBetween = 4;
// After a key that was found. False positives are all heard, unless there are so many that they are
// something else, such as keys with empty values: one for fewer heard refusals than this.
constexpr uint32_t kPassedBetween = 4, kPassedBetweenInBatches = 8;
constexpr uint32_t kLeastRefusals = 4;
// Calls for batches after one that passed a key, until RocksDB is taken to count no blocks: those
// for other partitions of the file come first, at most one for each key of a batch. Then so many
// passed keys are not heard.
constexpr uint32_t kMostCallsBeforeBlocks = 32;
constexpr uint32_t kPassedBetweenUncounted = 64;
// Batches that are heard after a key was passed, until its MultiGet() is taken to be done.
constexpr uint32_t kBatchesUntilDone = 16;
// Longer keys are not sampled; nor is more of a sample kept than this.
constexpr size_t kMostKeyBytes = 256;
constexpr size_t kMostAbsent = 512, kMostPassed = 256;
// Of a batch, of which one key in 256 is remembered.
constexpr size_t kMostRefused = 4;

__thread uint64_t unheard_hashes = kUnheardHashes;

// What a thread remembers of its last queries. A sampler's address may come to be another one's:
// that gets a key that it was not asked for, which does no harm.
class ListeningThread {
 public:
  // Before a query is heard. `in_batch`: with others, and RocksDB may not be done with those that
  // came before it.
  void LearnWhatPassedMeant(LookupSampler* sampler, bool in_batch);

  void HearSingle(LookupSampler* sampler, std::string_view key, uint64_t hash, bool passed) {
    EndAllBut(sampler, hash);
    Hear(sampler, key, hash, passed, false);
  }
  void HearOfBatch(LookupSampler* sampler, std::string_view key, uint64_t hash, bool passed) {
    if (passed_.Is(sampler, hash)) JudgePassed(sampler, false);
    Hear(sampler, key, hash, passed, true);
  }

 private:
  // Apart from its bytes, which are seldom looked at.
  struct Key {
    const LookupSampler* sampler = nullptr;  // null: there is none
    uint64_t hash = 0;

    bool Is(const LookupSampler* asked, uint64_t key_hash) const {
      return sampler == asked && hash == key_hash;
    }
  };
  struct Bytes {
    size_t size = 0;
    char bytes[kMostKeyBytes];

    // REQUIRES: key.size() <= kMostKeyBytes
    void Set(std::string_view key) {
      size = key.size();
      std::memcpy(bytes, key.data(), size);
    }
    std::string_view view() const { return {bytes, size}; }
  };

  // Other lookups are over.
  void EndAllBut(LookupSampler* sampler, uint64_t hash);
  void Hear(LookupSampler* sampler, std::string_view key, uint64_t hash, bool passed,
            bool in_batch);
  void Refuse(LookupSampler* sampler, std::string_view key, uint64_t hash);
  void JudgePassed(LookupSampler* sampler, bool was_found);
  // Whether blocks were accessed since the key was passed. Then, of several, one of them decides
  // whether the key's was read.
  bool LearnReads(const ThreadReads& now);

  uint32_t Random() {  // Knuth's linear congruential generator
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<uint32_t>(random_ >> 32);
  }

  Key refused_[kMostRefused];
  Key passed_;
  size_t oldest_refused_ = 0;
  bool passed_in_batch_ = false;
  bool accessed_ = false, was_read_ = false;  // what LearnReads() found out
  uint32_t waited_ = 0;                       // calls until it did, then batches
  ThreadReads reads_before_;
  uint32_t passed_until_heard_ = 0;
  uint32_t refusals_ = 0;
  uint32_t refusals_before_ = 0;  // the key that was passed last
  uint64_t random_ = 0;
  Bytes refused_bytes_[kMostRefused], passed_bytes_;
};

// Outlives the thread's objects: what is asked while they are destroyed is not heard.
static __thread bool is_over = false;

// On the heap, since the static memory of threads is small. Null once the thread ends.
static ListeningThread* ThisThread() {
  struct Owner {
    const std::unique_ptr<ListeningThread> thread = std::make_unique<ListeningThread>();
    ~Owner() { is_over = true; }
  };
  if (is_over) return nullptr;
  static thread_local const Owner owner;
  return owner.thread.get();
}

bool ListeningThread::LearnReads(const ThreadReads& now) {
  if (accessed_) return true;
  const uint64_t read = now.data_blocks_read - reads_before_.data_blocks_read;
  const uint64_t cached = now.data_blocks_from_cache - reads_before_.data_blocks_from_cache;
  // Neither: nothing is counted, or RocksDB forgot its counts meanwhile.
  constexpr uint64_t kMost = uint64_t{1} << 31;
  if (read + cached == 0 || read > kMost || cached > kMost) return false;
  accessed_ = true;
  was_read_ = (Random() * (read + cached)) >> 32 < read;
  return true;
}

void ListeningThread::LearnWhatPassedMeant(LookupSampler* sampler, bool in_batch) {
  if (passed_.sampler == nullptr) return;
  const ThreadReads now = ReadsNow();
  const bool was_found = now.found_bytes != reads_before_.found_bytes;
  const bool knew = accessed_;
  const bool knows = LearnReads(now);
  if (in_batch && passed_in_batch_ && !was_found) {
    if (knows && !knew) {
      unheard_hashes = kUnheardHashes;
      waited_ = 0;
    }
    if (++waited_ < (knows ? kBatchesUntilDone : kMostCallsBeforeBlocks)) return;
  }
  JudgePassed(sampler, was_found);
  if (!knows && waited_ >= kMostCallsBeforeBlocks) passed_until_heard_ = kPassedBetweenUncounted;
}

void ListeningThread::JudgePassed(LookupSampler* sampler, bool was_found) {
  unheard_hashes = kUnheardHashes;
  const bool is_own = std::exchange(passed_.sampler, nullptr) == sampler;
  const uint32_t refused_since = refusals_ - std::exchange(refusals_before_, refusals_);
  if (was_found || refused_since < kLeastRefusals) {
    passed_until_heard_ = passed_in_batch_ ? kPassedBetweenInBatches : kPassedBetween;
  }
  if (is_own && accessed_) {
    sampler->AddPassed(passed_bytes_.view(), was_found, was_read_);
  }
}

void ListeningThread::EndAllBut(LookupSampler* sampler, uint64_t hash) {
  for (size_t i = 0; i < kMostRefused; i++) {
    Key& key = refused_[i];
    if (key.sampler != sampler || key.hash == hash) continue;
    sampler->AddAbsent(refused_bytes_[i].view());
    key.sampler = nullptr;
  }
}

void ListeningThread::Hear(LookupSampler* sampler, std::string_view key, uint64_t hash, bool passed,
                           bool in_batch) {
  if (key.size() > kMostKeyBytes) return;
  Key* same = nullptr;
  for (Key& refused : refused_) {
    if (refused.Is(sampler, hash)) same = &refused;
  }
  if (!passed) {
    if (same == nullptr) Refuse(sampler, key, hash);
    return;
  }
  if (same != nullptr) same->sampler = nullptr;
  if (passed_.sampler != nullptr) return;
  if (passed_until_heard_ > 0) {
    passed_until_heard_--;
    return;
  }
  passed_ = {sampler, hash};
  passed_bytes_.Set(key);
  passed_in_batch_ = in_batch;
  accessed_ = false;
  waited_ = 0;
  reads_before_ = ReadsNow();
  unheard_hashes = 0;
}

void ListeningThread::Refuse(LookupSampler* sampler, std::string_view key, uint64_t hash) {
  refusals_++;
  if (Random() % kRefusalsBetween != 0) return;
  const size_t place = oldest_refused_++ % kMostRefused;
  if (refused_[place].sampler == sampler) sampler->AddAbsent(refused_bytes_[place].view());
  refused_[place] = {sampler, hash};
  refused_bytes_[place].Set(key);
}

void LookupSampler::Hear(std::string_view key, uint64_t hash, bool passed) {
  ListeningThread* const thread = ThisThread();
  if (thread == nullptr) return;
  thread->LearnWhatPassedMeant(this, false);
  if ((hash & kUnheardHashes) == 0) thread->HearSingle(this, key, hash, passed);
}

void LookupSampler::HearBatch(const HeardKeys& heard, const rocksdb::Slice* const* keys,
                              const uint64_t* hashes, const bool* passed, int count) {
  ListeningThread* const thread = ThisThread();
  if (thread == nullptr) return;
  thread->LearnWhatPassedMeant(this, true);
  for (uint64_t bits = heard.bits_; bits != 0;) {
    const int bit = 63 - __builtin_clzll(bits);
    bits &= ~(uint64_t{1} << bit);
    const int i = count - 1 - bit;
    if ((hashes[i] & kUnheardHashes) != 0) continue;  // all were listened to
    thread->HearOfBatch(this, {keys[i]->data(), keys[i]->size()}, hashes[i], passed[i]);
  }
}

// Every one of those that were seen is in the sample with the same probability. Where the next one
// belongs; null if nowhere.
template <typename T>
static T* NextPlace(std::vector<T>* sample, size_t most, uint64_t* seen, uint64_t* random) {
  ++*seen;
  if (sample->size() < most) {
    sample->emplace_back();
    return &sample->back();
  }
  *random ^= *random << 13;
  *random ^= *random >> 7;
  *random ^= *random << 17;
  const uint64_t place = *random % *seen;
  return place < most ? &(*sample)[place] : nullptr;
}

void LookupSampler::AddAbsent(std::string_view key) {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  std::string* const place = NextPlace(&heard_.absent_keys, kMostAbsent, &absent_seen_, &random_);
  if (place != nullptr) place->assign(key);
  absent_count_.store(heard_.absent_keys.size(), std::memory_order_relaxed);
}

void LookupSampler::AddPassed(std::string_view key, bool was_found, bool was_read) {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  HeardLookups::Passed* const place =
      was_found ? NextPlace(&heard_.passed, kMostPassed, &found_seen_, &random_)
                : NextPlace(&false_positives_, kMostPassed, &false_seen_, &random_);
  if (place == nullptr) return;
  place->key.assign(key);
  place->was_found = was_found;
  place->was_read = was_read;
}

HeardLookups LookupSampler::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  absent_seen_ = found_seen_ = false_seen_ = 0;
  absent_count_.store(0, std::memory_order_relaxed);
  heard_.passed.insert(heard_.passed.end(), false_positives_.begin(), false_positives_.end());
  false_positives_.clear();
  return std::exchange(heard_, HeardLookups());
}

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
