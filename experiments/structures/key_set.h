// SPDX-License-Identifier: Apache-2.0
// One interface for every type that holds a set of keys, for programs that compare them.
//
//   for (KeySetKind kind : kKeySetKinds) {
//     std::unique_ptr<KeySet> set = NewKeySet(kind, 1000, 0.01);
//     for (const std::string& key : keys) set->Add(key);
//     ...
//
// Costs a virtual call for each operation, a nanosecond or two, for all alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rocksieve {

class KeySet {
 public:
  virtual ~KeySet() = default;
  // False, and nothing changed, if there is no room for it.
  virtual bool Add(std::string_view key) = 0;
  // True for every key that was added, and for others at ExpectedFalsePositiveRate().
  virtual bool MayContain(std::string_view key) const = 0;
  // 0 if it is exact.
  virtual double ExpectedFalsePositiveRate() const = 0;
  virtual size_t MemoryBytes() const = 0;
};

// Any type with these verbs as a KeySet; one without a rate is exact, and one whose Add() returns
// nothing always has room.
template <typename Set>
class KeySetOf final : public KeySet {
 public:
  explicit KeySetOf(Set set) : set_(std::move(set)) {}

  bool Add(std::string_view key) override {
    if constexpr (std::is_void_v<decltype(set_.Add(key))>) {
      set_.Add(key);
      return true;
    } else {
      return set_.Add(key);
    }
  }
  bool MayContain(std::string_view key) const override { return set_.MayContain(key); }
  double ExpectedFalsePositiveRate() const override { return RateOf(set_, 0); }
  size_t MemoryBytes() const override { return set_.MemoryBytes(); }

  const Set& set() const { return set_; }

 private:
  template <typename T>
  static auto RateOf(const T& set, int) -> decltype(set.ExpectedFalsePositiveRate()) {
    return set.ExpectedFalsePositiveRate();
  }
  template <typename T>
  static double RateOf(const T&, long) {
    return 0;
  }

  Set set_;
};

enum class KeySetKind { kHashTable, kCuckooTable, kHashCompaction, kBloomFilter, kCuckooFilter };

inline constexpr KeySetKind kKeySetKinds[] = {KeySetKind::kHashTable, KeySetKind::kCuckooTable,
                                              KeySetKind::kHashCompaction, KeySetKind::kBloomFilter,
                                              KeySetKind::kCuckooFilter};

// "hash table", "cuckoo hash table", "hash compaction", "Bloom filter", "cuckoo filter".
std::string_view KeySetName(KeySetKind kind);

// Made for so many keys at that rate, which the exact ones do not need. Throws
// std::invalid_argument as the options of that type do.
std::unique_ptr<KeySet> NewKeySet(KeySetKind kind, uint64_t keys, double false_positive_rate);

}  // namespace rocksieve
