// SPDX-License-Identifier: Apache-2.0
// An exact set of keys in memory: a cuckoo hash table. What filters are to be measured against.
//
//   CuckooTable table;
//   table.Add("apple");
//   table.MayContain("apple");   // true; there are no false positives
//
// A key is in one of two places, so that every lookup ends after at most two buckets of slots, in
// the worst case too. Takes 8 bytes per slot, of which 63 to 95 % are filled once it has grown by
// itself, and the keys with their lengths.
//
// Each of two tables has buckets of four slots; a key is in one bucket of each, by two independent
// hashes (the halves of XXH3-128). To make room, keys go to their other bucket, after a search that
// finds where to (lib/toolbox/cuckoo_buckets.h). When there is none, and at a load of 0.95, the
// table grows by half, or takes another seed if it is far from full. Slots have 24 bits of the hash
// beside the place of the key, so that other keys are hardly ever read. Sources: R. Pagh, F.
// Rodler, "Cuckoo hashing", 2004; buckets: M. Dietzfelbinger, C. Weidling, "Balanced allocation and
// dictionaries with tightly packed constant size bins", 2007.
//
// Thread safety: const members from any number of threads at once, as long as none calls another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve {

struct CuckooTableOptions {
  // Room for so many keys from the start, 0 to 2^40; more come in as well.
  uint64_t keys = 0;
  // Seed of the key hash. A secret random seed keeps people from choosing keys that collide.
  uint64_t seed = 0;
};

class CuckooTable {
 public:
  // Throws std::invalid_argument if `keys` is out of its range.
  explicit CuckooTable(const CuckooTableOptions& options = {});

  // A key that is there already changes nothing. Throws std::length_error at a terabyte of keys,
  // and if keys were chosen (for this seed) so that nine have the same hash.
  void Add(std::string_view key);
  // Exact: whether it was added and not removed.
  bool MayContain(std::string_view key) const { return FindSlot(key) != kNoSlot; }
  // False: it was not there. The memory of removed keys comes back when they are half of all.
  bool Remove(std::string_view key);
  // Gives back the memory that was held for further keys' bytes.
  void ShrinkToFit() { key_bytes_.shrink_to_fit(); }

  uint64_t size() const { return size_; }
  double Load() const { return static_cast<double>(size_) / static_cast<double>(slots_.size()); }
  size_t MemoryBytes() const;
  std::vector<std::string_view> SortedKeys() const;

  // The keys in order: the same bytes for the same keys, whatever was removed meanwhile.
  std::string Serialize() const;
  // Nothing, and in *error (which may be null) why, if the bytes are not what Serialize() gives.
  static std::optional<CuckooTable> Deserialize(std::string_view bytes, std::string* error);

 private:
  static constexpr size_t kNoSlot = SIZE_MAX;
  struct Buckets {
    uint64_t first, second;  // of both tables, numbered on
    uint64_t tag;
  };
  Buckets BucketsOf(std::string_view key) const;
  std::string_view KeyAt(uint64_t place) const;
  size_t FindSlot(std::string_view key) const;
  int FreeSlotOf(uint64_t bucket) const;
  // Finds room for a key whose bytes are (or will be) at `place`. False, and nothing changed, if
  // there is none.
  bool Insert(const Buckets& buckets, uint64_t place);
  void Grow();
  // False, and nothing changed, if the keys do not all fit.
  bool Rehash(uint64_t buckets_per_table, uint64_t rehashes);
  void DropRemovedKeys();

  CuckooTableOptions options_;
  uint64_t rehashes_ = 0;  // added to the seed
  uint64_t buckets_per_table_;
  uint64_t size_ = 0;
  std::vector<uint64_t> slots_;  // 0, or 1 + the key's place in key_bytes_, and its tag on top
  std::vector<char> key_bytes_;  // each a varint with its length, and the key
  uint64_t removed_bytes_ = 0;   // of key_bytes_
};

}  // namespace rocksieve
