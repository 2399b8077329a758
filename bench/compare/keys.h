// SPDX-License-Identifier: Apache-2.0
// Keys that cost next to nothing to make, so that no array of them has to be kept.
//
// A set has `count` present keys, sorted by their index as those of a table are, and 2^63 missing
// ones in the same range. The lowest bit of the first eight bytes tells the two kinds apart.
#pragma once

#include <rocksdb/slice.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocksieve::bench {

// Any 64 bits -> 64 bits that look random (the finalizer of SplitMix64), one to one.
inline uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9;
  x ^= x >> 27;
  x *= 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

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
  rocksdb::Slice** Pointers();

 private:
  char* At(size_t i) { return bytes_.data() + 1 + i * stride_; }

  const KeySet& set_;
  const size_t stride_;
  size_t size_ = 0;
  std::vector<char> bytes_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::Slice*> pointers_;
};

}  // namespace rocksieve::bench
