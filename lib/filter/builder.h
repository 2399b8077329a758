// SPDX-License-Identifier: Apache-2.0
// What FilterBuilder stands on, for callers with more wishes than a program has: RocksDB's builder,
// and sets of hashes that never were keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rocksieve/filter.h>

#include "lib/format/block.h"
#include "lib/hash/hash_set.h"
#include "lib/hash/key_hash.h"
#include "lib/range/builder.h"

namespace rocksieve {

// Keys, blocks and memory are as FilterBuilder has them; of a keyed one the keys themselves; as
// much again, or 8 bytes per key, once KeepKeysForVerification() was called. Thread safety: none.
class BlockBuilder {
 public:
  // Throws like FilterBuilder.
  explicit BlockBuilder(const FilterSpec& spec);

  void AddKey(std::string_view key) {
    if (is_keyed_) return AddToKeys(key);
    // Of short keys inlined: a build takes some ten nanoseconds per key.
    const bool is_short = KeyHasher::IsShort(key.size());
    const uint64_t hash = is_short ? hasher_.HashShort(key) : HashOfOther(key);
    range_.Cover(key);
    // Keys come sorted and prefixes repeat, so most duplicates are adjacent.
    if (hashes_.empty() || hashes_.back() != hash) AddHash(hash);
  }

  // A key and another entry that stands for it, such as its prefix. Unlike two calls of AddKey(), a
  // run of equal `alt` counts once, and a key that is its own prefix does: as the filter builders
  // of RocksDB count since 9.6, so that filters of prefixes and keys keep the same size.
  void AddKeyAndAlt(std::string_view key, std::string_view alt);

  // The file has other filters beside this one. To be said before Finish(); holds for all.
  void SetIsPartition() { request_.is_partition = true; }

  // Filters of keys answer no ranges, since the keys' order is not known to be bytewise. To be said
  // before Finish(); holds for all.
  void SetAnswersNoRanges() { request_.answers_ranges = false; }

  // What was asked of filters like the next one; it is built to answer such.
  void SetQueryMix(const range::QueryMix& mix) { request_.options.mix = mix; }

  // Whether it collects the keys themselves, not their hashes: its first spec is of a family whose
  // filters are built of keys.
  bool is_keyed() const { return is_keyed_; }

  // Of a keyed one: whether keys have come in ascending order since the start or the last Finish().
  bool keys_ascend() const { return keys_.ascend(); }

  // 0 if and only if nothing was added since the start or the last Finish().
  size_t key_count() const { return is_keyed_ ? keys_.size() : hashes_.size(); }

  // Builds the filter with `budget_factor` times the memory that the spec gives it (0.5 to 2), so
  // that blocks fit the size classes of an allocator, and starts afresh, also where it throws.
  FilterBlock Finish(double budget_factor = 1);

  // The space at which FactorWithin() is 1: a block of the spec's own size is expected to fit.
  size_t FittingBlockBytes() const;

  // The largest factor at which the block is expected to fit into block_bytes, its range keys
  // included; 0.5 to 2.
  double FactorWithin(size_t block_bytes) const;

  // From now on builds under another spec, for callers who decide family and amount only when they
  // have seen the keys: those added so far stay. Throws like the constructor, and if `salted` is
  // not the same as before, since it is part of the keys' hashes, or if the family needs keys where
  // hashes are collected.
  void SetSpec(const FilterSpec& spec);
  const FilterSpec& spec() const { return spec_; }

  // From now on keeps the keys' hashes beyond Finish(), until the next AddKey(), for Verify().
  void KeepKeysForVerification() { keep_for_verification_ = true; }

  // Checks a block that the last Finish() returned: that memory did not change the collected
  // hashes, and that the block answers every one of them. Empty if all is well, else what is wrong.
  // REQUIRES: KeepKeysForVerification() was called before the first AddKey().
  std::string Verify(std::string_view block) const;

 private:
  [[gnu::noinline]] uint64_t HashOfOther(std::string_view key) const { return HashKey(key, salt_); }
  void AddHash(uint64_t hash) {
    if (keep_for_verification_) KeepForVerification(hash);
    hashes_.push_back(hash);
  }
  void KeepForVerification(uint64_t hash);
  void AddToKeys(std::string_view key);
  FilterBlock BuildOfKeys(double budget_factor);
  FilterBlock BuildOfHashes(double budget_factor);
  void StartAfresh();
  std::string VerifyKeys(std::string_view block) const;

  FilterSpec spec_;
  uint64_t salt_ = kDefaultSalt;
  KeyHasher hasher_;  // of the salt
  HashList hashes_;
  // Of families that are built of keys, these instead of their hashes.
  bool is_keyed_ = false;
  range::KeyList keys_, finished_keys_;
  range::Request request_;
  std::optional<uint64_t> last_alt_;  // hash of the last `alt`, which this filter has
  KeyRange range_;
  bool keep_for_verification_ = false;
  // What the hashes add up to as they came in, and those of the last block.
  uint64_t checksum_ = 0;
  HashList finished_hashes_;
  uint64_t finished_checksum_ = 0, finished_salt_ = kDefaultSalt;
  bool finished_keyed_ = false;  // the last block was built of keys
};

// The expected size of a block of `keys` keys, but for the range keys (at most 64 bytes).
// REQUIRES: the spec is valid, here and below.
size_t EstimateBlockBytes(const FilterSpec& spec, size_t keys);

// No block of so many keys is larger, range keys included, unless the keys were chosen for it. Of
// many keys some 2 % above the estimate. Quick, as the estimate is: RocksDB asks after every data
// block.
size_t MostBlockBytes(const FilterSpec& spec, size_t keys);

// The expected rate of a filter of so many keys whose block was given block_bytes instead of what
// the spec would give it. At least half and at most twice the spec's memory is assumed.
double EstimateRate(const FilterSpec& spec, size_t keys, size_t block_bytes);

// The largest number of keys whose block is estimated at no more than block_bytes.
size_t EstimateKeyCount(const FilterSpec& spec, size_t block_bytes);

// The block of hashes that the caller has made, instead of keys; it has no range keys. Ask it with
// Filter::MayContainHash. The spec must not be salted.
FilterBlock BuildFilterOfHashes(const FilterSpec& spec, HashList hashes);

}  // namespace rocksieve
