// SPDX-License-Identifier: Apache-2.0
// A set of keys as a hash table of short hashes: hash compaction.
//
//   HashCompaction visited(HashCompactionOptions::ForKeys(1000000, 0.001));
//   if (!visited.MayContain(state)) visited.Add(state), explore(state);   // may omit a state
//
// A key that was added is found. A key that was not is taken for one that was if, on the way from
// its slot to the first empty one, a slot holds the same value. It comes from model checking, where
// such a state is omitted from the search, and where what matters is the probability that this
// happens at all: HashCompactionOmissionProbability().
//
// An open-addressing table of values of a few bits, whose slot and step come from other bits of the
// key's hash than its value (P. Wolper, D. Leroy, "Reliable hashing without collision detection",
// 1993, took the slot from the value, which needs more bits for the same rate; U. Stern, D. Dill,
// "Improved probabilistic verification by hash compaction", 1995, made them independent). Probes
// step by double hashing in a prime number of slots, which takes as many as uniform hashing does
// (G. Lueker, M. Molodowitch, "More analysis of double hashing", 1988).
//
// Thread safety: const members from any number of threads at once, as long as none calls another.
// Cost: about 1 / (1 - load) cache lines for a key that is not in it, half of that and less for
// others. Keys cannot be removed: a value may stand for several. Bytes: docs/formats/toolbox.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve {

struct HashCompactionOptions {
  static constexpr uint64_t kMostSlots = (uint64_t{1} << 40) - 87;  // the largest prime below
  static constexpr int kLeastValueBits = 2, kMostValueBits = 48;

  // 2 to kMostSlots; rounded up to a prime. One is always left empty.
  uint64_t slots = 0;
  // Bits of a slot, 2 to 48.
  int value_bits = 0;
  // Seed of the key hash. A secret random seed keeps people from choosing keys that collide.
  uint64_t seed = 0;

  // The smallest table that holds `keys` distinct keys at that rate of false positives, load and
  // width chosen together: 2 bits at a load of 0.43 for 20 %, 9 at 0.84 for 1 %, 17 at 0.93 for
  // 0.01 %. Throws std::invalid_argument unless keys >= 1, 0 < false_positive_rate < 1, and the
  // result is within the limits above.
  static HashCompactionOptions ForKeys(uint64_t keys, double false_positive_rate);

  friend bool operator==(const HashCompactionOptions& a, const HashCompactionOptions& b) {
    return a.slots == b.slots && a.value_bits == b.value_bits && a.seed == b.seed;
  }
  friend bool operator!=(const HashCompactionOptions& a, const HashCompactionOptions& b) {
    return !(a == b);
  }
};

// The field, its range and the remedy; empty if all is well.
std::string WhatIsWrong(const HashCompactionOptions& options);

bool IsPrime(uint64_t n);

// The rate of a missing key: with the load a and the probability q = 1 / (2^value_bits - 1) that a
// slot matches it, the probes that it compares are geometric, P(t or more) = a^t (uniform hashing),
// and 1 - E[(1 - q)^t] = a q / (1 - a + a q). REQUIRES: 0 <= load < 1.
double HashCompactionRate(int value_bits, double load);

// The probability that at least one of `keys` distinct keys, added one after the other to an empty
// table, is taken for an earlier one: 1 - (1 - q)^c with the expected number of comparisons
// c = (m + 1) (H(m + 1) - H(m - n + 1)) - n for n keys in m slots and the harmonic numbers H. Stern
// and Dill, 1995. REQUIRES: keys < slots.
double HashCompactionOmissionProbability(uint64_t slots, int value_bits, uint64_t keys);

class HashCompaction {
 public:
  // Allocates all that it will ever need. Throws std::invalid_argument, which names the field, its
  // range and the remedy.
  explicit HashCompaction(const HashCompactionOptions& options);

  // False, and nothing changed, if there is no room for it. A key that is found already, rightly or
  // not, takes none.
  bool Add(std::string_view key) { return AddHash(KeyHash(key)); }
  // False only if the key was not added.
  bool MayContain(std::string_view key) const { return MayContainHash(KeyHash(key)); }

  // The same for keys that are already hashed. REQUIRES: the hash is uniform in all 64 bits.
  bool AddHash(uint64_t key_hash);
  bool MayContainHash(uint64_t key_hash) const;
  // XXH3-64 with the seed of the options: what Add() hashes with.
  uint64_t KeyHash(std::string_view key) const;

  // Values in it: the distinct keys that were added, but for those that were found already.
  uint64_t size() const { return size_; }
  double Load() const { return static_cast<double>(size_) / static_cast<double>(options_.slots); }
  // The rate at which missing keys are found, at what it holds now.
  double ExpectedFalsePositiveRate() const;
  size_t MemoryBytes() const { return sizeof(*this) + slots_.capacity(); }
  // As they are after rounding.
  const HashCompactionOptions& options() const { return options_; }

  std::string Serialize() const;
  // Nothing, and in *error (which may be null) why, if the bytes are not what Serialize() gives.
  static std::optional<HashCompaction> Deserialize(std::string_view bytes, std::string* error);

  friend bool operator==(const HashCompaction& a, const HashCompaction& b) {
    return a.options_ == b.options_ && a.slots_ == b.slots_;
  }

 private:
  struct Probe {
    uint64_t slot;   // where the key's value is, or the empty slot that ends the search
    uint64_t value;  // of the key, never 0
    bool found;
  };
  HashCompaction() = default;
  Probe Find(uint64_t key_hash) const;

  HashCompactionOptions options_;
  uint64_t size_ = 0;
  std::vector<uint8_t> slots_;  // bit-packed; 0 is an empty slot
};

}  // namespace rocksieve
