#include <rocksieve/dynamic/bloom_filter.h>

#include <atomic>

#include "lib/dynamic/bloom_options.h"
#include "lib/dynamic/bloom_probes.h"
#include "lib/hash/key_hash.h"

namespace rocksieve {
BloomFilter::BloomFilter(const BloomFilterOptions& options)
    : options_(bloom::Checked(options, "BloomFilterOptions", "bits")),
      words_(bloom::WordsFor(options_.bits)) {}

uint64_t BloomFilter::KeyHash(std::string_view key) const { return HashKey(key, options_.seed); }

// The words are plain ones for who has the filter alone, and atomic for who has not. Relaxed: a bit
// says nothing about other memory. On x86-64 and arm64 the load is an ordinary one.
uint64_t BloomFilter::LoadWord(uint64_t index) const {
  uint64_t& word = const_cast<uint64_t&>(words_[index]);
  return std::atomic_ref<uint64_t>(word).load(std::memory_order_relaxed);
}

void BloomFilter::AddHash(uint64_t hash) {
  bloom::VisitProbes(options_, hash, [this](uint64_t bit) {
    // Load and store are two steps, so only one thread may do this; atomic ones for those who
    // query.
    const uint64_t word = LoadWord(bit / 64) | uint64_t{1} << bit % 64;
    std::atomic_ref<uint64_t>(words_[bit / 64]).store(word, std::memory_order_relaxed);
    return true;
  });
}

uint64_t BloomFilter::AddHashCountingNewBits(uint64_t hash) {
  uint64_t new_bits = 0;
  bloom::VisitProbes(options_, hash, [this, &new_bits](uint64_t bit) {
    const uint64_t mask = uint64_t{1} << bit % 64;
    new_bits += (words_[bit / 64] & mask) == 0;
    words_[bit / 64] |= mask;
    return true;
  });
  return new_bits;
}

void BloomFilter::AddHashConcurrently(uint64_t hash) {
  bloom::VisitProbes(options_, hash, [this](uint64_t bit) {
    const uint64_t mask = uint64_t{1} << bit % 64;
    // Half of the bits are there already: then the cache line stays shared.
    if ((LoadWord(bit / 64) & mask) == 0) {
      std::atomic_ref<uint64_t>(words_[bit / 64]).fetch_or(mask, std::memory_order_relaxed);
    }
    return true;
  });
}

bool BloomFilter::MayContainHash(uint64_t hash) const {
  return bloom::VisitProbes(
      options_, hash, [this](uint64_t bit) { return (LoadWord(bit / 64) >> bit % 64 & 1) != 0; });
}

bool BloomFilter::RemoveHashLosingOthers(uint64_t hash, ZeroedBits which) {
  if (!MayContainHash(hash)) return false;
  bloom::VisitProbes(options_, hash, [this, which](uint64_t bit) {
    words_[bit / 64] &= ~(uint64_t{1} << bit % 64);
    return which == ZeroedBits::kAllBits;
  });
  return true;
}

bool BloomFilter::Merge(const BloomFilter& other) {
  if (other.options_ != options_) return false;
  for (size_t i = 0; i < words_.size(); i++) words_[i] |= other.LoadWord(i);
  return true;
}

bool BloomFilter::AndBits(const BloomFilter& other) {
  if (other.options_ != options_) return false;
  for (size_t i = 0; i < words_.size(); i++) words_[i] &= other.LoadWord(i);
  return true;
}

}  // namespace rocksieve
