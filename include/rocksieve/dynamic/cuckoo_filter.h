// SPDX-License-Identifier: Apache-2.0
// A set that takes keys and gives them back, in memory: a cuckoo filter with partial keys.
//
//   CuckooFilter filter(CuckooFilterOptions::ForKeys(100000, 0.001));
//   if (!filter.Add("apple")) ...   // full: nothing has changed, what was in it still is
//   filter.MayContain("apple");     // true
//   filter.Remove("apple");         // only what was added, see below
//
// For sets that shrink as well as grow: removing is exact, at 1.05 (3 + log2(1 / rate)) bits per
// key, which is also less than a Bloom filter takes for rates below 0.3 %. If nothing is ever
// removed and all keys are known before, a static filter (rocksieve/filter.h) is smaller.
//
// What it promises:
//  * A key that was added is found until it is removed as often as it was added. Add() never loses
//    another key: it first looks for a chain of moves that ends in an empty slot, and answers
//    false, with nothing changed, if there is none. No entry is ever kept outside of the table.
//  * Remove() of a key that was not added takes away the entry of another key, with the probability
//    ExpectedFalsePositiveRate(), and that key is then a false negative. No filter of this kind can
//    tell; remove only what is known to have been added.
//  * It is a multiset. A key has eight slots (with the probability 1 / buckets only four), which it
//    shares with its neighbours: the ninth copy of a key is refused, and fewer may be in a full
//    table. To add each key at most once, ask MayContain() first; but then a false positive is not
//    added, and must not be removed: `if (!f.MayContain(k)) f.Add(k)` and Remove() do not go
//    together.
//  * It does not grow, since it does not know the keys. When full, make a larger one and add the
//    keys again. ForKeys() plans for a load of 0.95; the first key is refused at about 0.97.
//
// Thread safety: const members from any number of threads at once, as long as none calls another.
// Cost: a query reads two cache lines, some 15 ns in the processor's caches and up to 100 ns
// beyond. Adding takes twice to five times as long, and up to 40 us to find that there is no room.
//
// Source: B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher, "Cuckoo filter: practically better
// than Bloom", CoNEXT 2014. Theirs needs a power of two of buckets, since the second bucket of a
// key is the XOR of the first one and a hash of the fingerprint. Here it is (g(fingerprint) -
// first) mod buckets with a hash g below `buckets`: twice applied, g - (g - b) = b, for any number
// of buckets. Bytes: docs/formats/toolbox.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve {

struct CuckooFilterOptions {
  static constexpr int kBucketSlots = 4;
  static constexpr uint64_t kMostBuckets = uint64_t{1} << 32;
  static constexpr int kLeastFingerprintBits = 2, kMostFingerprintBits = 32;
  // What ForKeys() plans for, but for small filters.
  static constexpr double kLoad = 0.95;

  // Of four slots each, 1 to kMostBuckets; any number, not powers of two only.
  uint64_t buckets = 0;
  // Bits of a slot, 2 to 32. Each bit more halves the rate. Fewer than 5 do not reach kLoad in
  // large filters: too many keys share a fingerprint and so both buckets (docs/toolbox.md has the
  // loads).
  int fingerprint_bits = 0;
  // Seed of the key hash. A secret random seed keeps people from choosing keys that collide, with
  // which they could fill a bucket so that no key of it can be added.
  uint64_t seed = 0;

  // The smallest filter that holds `keys` keys, counted with repetitions, at a rate of false
  // positives of at most that when it holds them all. They fit with a probability above 0.9999 if
  // none is repeated more than a few times. Throws std::invalid_argument unless keys >= 1,
  // 0 < false_positive_rate < 1, and the result is within the limits above.
  static CuckooFilterOptions ForKeys(uint64_t keys, double false_positive_rate);

  friend bool operator==(const CuckooFilterOptions& a, const CuckooFilterOptions& b) {
    return a.buckets == b.buckets && a.fingerprint_bits == b.fingerprint_bits && a.seed == b.seed;
  }
  friend bool operator!=(const CuckooFilterOptions& a, const CuckooFilterOptions& b) {
    return !(a == b);
  }
};

// 1 - (1 - 1 / (2^fingerprint_bits - 1))^(8 load): a missing key is compared with what stands in
// the eight slots of its two buckets. Source: Fan et al., 2014, section 5.1 (whose bound is
// 8 / 2^fingerprint_bits). REQUIRES: 0 <= load <= 1.
double CuckooFalsePositiveRate(int fingerprint_bits, double load);

class CuckooFilter {
 public:
  // Allocates all that it will ever need. Throws std::invalid_argument, which names the field, its
  // range and the remedy.
  explicit CuckooFilter(const CuckooFilterOptions& options);

  // False, and nothing changed, if there is no room for it.
  bool Add(std::string_view key) { return AddHash(KeyHash(key)); }
  // False only if the key was not added.
  bool MayContain(std::string_view key) const { return MayContainHash(KeyHash(key)); }
  // Takes one copy away. False, and nothing changed: it was certainly not there. REQUIRES: it was
  // added more often than removed, see above.
  bool Remove(std::string_view key) { return RemoveHash(KeyHash(key)); }
  // How often it was added and not removed: never too few; too many by those copies of other keys
  // that share its buckets and fingerprint. 0 to 8.
  uint64_t Count(std::string_view key) const { return CountHash(KeyHash(key)); }
  // Adds all that the other one has, with repetitions. False, and nothing changed, if the options
  // differ or there is no room. Takes memory for a second table meanwhile.
  bool Merge(const CuckooFilter& other);
  void Clear();

  // The same for keys that are already hashed. REQUIRES: the hash is uniform in all 64 bits.
  bool AddHash(uint64_t key_hash);
  bool MayContainHash(uint64_t key_hash) const;
  bool RemoveHash(uint64_t key_hash);
  uint64_t CountHash(uint64_t key_hash) const;
  // XXH3-64 with the seed of the options: what Add() hashes with.
  uint64_t KeyHash(std::string_view key) const;

  // Keys in it, counted with repetitions.
  uint64_t size() const { return size_; }
  // The share of slots that are taken.
  double Load() const;
  // The rate at which missing keys are found, at what it holds now.
  double ExpectedFalsePositiveRate() const;
  size_t MemoryBytes() const { return sizeof(*this) + slots_.capacity(); }
  const CuckooFilterOptions& options() const { return options_; }

  std::string Serialize() const;
  // Nothing, and in *error (which may be null) why, if the bytes are not what Serialize() gives.
  static std::optional<CuckooFilter> Deserialize(std::string_view bytes, std::string* error);

  friend bool operator==(const CuckooFilter& a, const CuckooFilter& b) {
    return a.options_ == b.options_ && a.slots_ == b.slots_;
  }

 private:
  struct Entry {
    uint64_t bucket;
    uint32_t fingerprint;  // not 0, which is an empty slot
  };
  CuckooFilter() = default;
  Entry EntryOf(uint64_t key_hash) const;
  uint64_t AlternateBucket(uint64_t bucket, uint32_t fingerprint) const;
  uint32_t FingerprintAt(uint64_t bucket, int slot) const;
  void SetFingerprint(uint64_t bucket, int slot, uint32_t fingerprint);
  // The first slot of the bucket that holds it, or -1.
  int FindSlot(uint64_t bucket, uint32_t fingerprint) const;
  bool Insert(const Entry& entry);

  CuckooFilterOptions options_;
  uint64_t size_ = 0;
  std::vector<uint8_t> slots_;  // bit-packed, bucket after bucket
};

}  // namespace rocksieve
