// SPDX-License-Identifier: Apache-2.0
// The filters that are compared, all seen through the interfaces that RocksDB itself uses; and keys
// that cost next to nothing to make, so that no array of them has to be kept.
//
// A set has `count` present keys, sorted by their index as those of a table are, and 2^63 missing
// ones in the same range. The lowest bit of the first eight bytes tells the two kinds apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/table.h>

#include "bench/clock.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve::bench {

// 0 <= result < range, for 64 random bits.
inline uint64_t ScaleTo(uint64_t range, uint64_t random) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(random) * range) >> 64);
}

class KeySet {
 public:
  static constexpr size_t kDefaultBytes = 16;

  // REQUIRES: count > 0, key_bytes is a positive multiple of 8
  KeySet(uint64_t count, uint64_t seed, size_t key_bytes = kDefaultBytes);

  uint64_t count() const { return count_; }
  size_t key_bytes() const { return key_bytes_; }

  // Writes key_bytes() bytes. REQUIRES: index < count()
  void WritePresent(uint64_t index, char* key) const;
  // Any index will do; different ones give different keys, but for one chance in 2^63.
  void WriteMissing(uint64_t index, char* key) const;

 private:
  uint64_t count_;
  uint64_t gap_;
  uint64_t seed_;
  size_t key_bytes_;
};

enum class KeyKind { kPresent, kMissing };

// Some keys in memory, packed with one byte between them, so that they lie at every alignment.
class KeyChunk {
 public:
  static constexpr size_t kKeys = 1024;

  // The set must outlive the chunk.
  explicit KeyChunk(const KeySet& set);

  // Present keys begin, begin + 1 .. in their order. REQUIRES: begin + size <= set.count()
  void FillInOrder(uint64_t begin, size_t size);
  // Random keys that no other value of `number` gives, if missing ones are asked for.
  void FillAtRandom(KeyKind kind, uint64_t number, size_t size = kKeys);

  const KeySet& set() const { return set_; }
  size_t size() const { return size_; }
  rocksdb::Slice operator[](size_t i) const {
    return {bytes_.data() + 1 + i * stride_, stride_ - 1};
  }
  // The same keys as an array, as batches want them.
  rocksdb::Slice** Pointers() { return pointers_.data(); }

 private:
  char* At(size_t i) { return bytes_.data() + 1 + i * stride_; }

  const KeySet& set_;
  const size_t stride_;
  size_t size_ = 0;
  std::vector<char> bytes_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::Slice*> pointers_;
};

// A block and the reader that answers from it, as an open table has them.
struct BuiltFilter {
  std::unique_ptr<const char[]> memory;
  rocksdb::Slice block;
  std::unique_ptr<rocksdb::FilterBitsReader> reader;

  std::string_view view() const { return {block.data(), block.size()}; }
};

class Candidate {
 public:
  // Specs: rocksieve.FAMILY:AMOUNT; bloomfilter:AMOUNT and ribbonfilter:AMOUNT for RocksDB's own
  // ones (the latter at all levels). The amount is in bits per key, for Ribbon those of the Bloom
  // filter of equal rate, or a rate such as 0.1%. "hash-only", for times of queries, only hashes.
  // Returns an empty string and fills *candidate, or says what is wrong.
  static std::string Make(const std::string& spec, Candidate* candidate);

  const std::string& spec() const { return spec_; }
  bool is_ours() const;
  bool is_ribbon() const;

  // Of all present keys of the chunk's set, in order. The watch has the time from the making of the
  // builder until it is gone, without that of making keys.
  BuiltFilter Build(KeyChunk* chunk, Stopwatch<CpuClock>* watch) const;
  BuiltFilter Build(const KeySet& keys) const {
    KeyChunk chunk(keys);
    Stopwatch<CpuClock> unread;
    return Build(&chunk, &unread);
  }

  // The rate that the block of so many keys should have.
  double ModelRate(std::string_view block, uint64_t keys) const;

  // What a block spends on the smallest and the largest key; only ours do.
  size_t RangeBytes(std::string_view block) const;

 private:
  std::string spec_;
  std::shared_ptr<const rocksdb::FilterPolicy> policy_;  // null: hash-only
};

// Filters that are measured in turns and compared with the first of them.
using Candidates = std::vector<Candidate>;

}  // namespace rocksieve::bench
