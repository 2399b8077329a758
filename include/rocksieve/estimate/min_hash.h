// SPDX-License-Identifier: Apache-2.0
// How similar are two sets? From signatures of a fixed number of places.
//
//   MinHash a(MinHashOptions{}), b(MinHashOptions{});
//   for (...) a.Add(shingle);                        // shingles.h, or any keys
//   const Estimate similarity = MinHash::Jaccard(a, b);   // 0.83, give or take 0.03
//
// DESCRIPTION. The Jaccard similarity J of two sets is the size of their intersection divided by
// that of their union. Each place of the two signatures is equal with probability J; so J is known
// with standard error sqrt(J (1 - J) / size), 4.4 % at most for 128 places. Duplicates count once,
// signatures of parts merge into that of the union. To find the similar ones among many sets
// without comparing all pairs, put the signatures into an LshIndex (lsh_index.h). For sizes and
// intersections use k_minimum_values.h.
//
// IMPLEMENTATION, two of them. kIndependent: as many hash functions as places, of each the least
// value (Broder, "On the resemblance and containment of documents", 1997): exact in theory, and
// each Add costs `size` hashes. kOnePermutation: one hash of the key says to which place it
// belongs, and the least of a place stays (Li, Owen, Zhang, "One permutation hashing", 2012): Add
// costs one hash. Places stay empty then if the sets are small. Jaccard() leaves out those that are
// empty in both, and so is unbiased and has the error sqrt(J (1 - J) / N * (n - N) / (n - 1)), N
// being the places that are not, n the keys of the union. Signature(), where each place needs a
// value, borrows that of another place for it, in the same way for all sets (Shrivastava, "Optimal
// densification for fast and accurate minwise hashing", 2017). Then places are equal with
// probability J again; the share of equal ones has a variance that is larger than Jaccard()'s V by
// (size - N) / size^2 (J (1 - J) - V). Bytes: docs/formats/toolbox.md.
//
// Thread safety: const members from any number of threads at once, others from one alone. Threads
// that add at once have a sketch each, to be merged.
// Cost: Add some 5 ns (kOnePermutation) or 3 ns times size (kIndependent); 8 bytes per place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/estimate/estimate.h>

namespace rocksieve {

// The values are stored and never change.
enum class MinHashMethod : uint8_t { kOnePermutation = 1, kIndependent = 2 };

struct MinHashOptions {
  uint64_t size = 128;  // places, 1 .. 4096
  MinHashMethod method = MinHashMethod::kOnePermutation;
  uint64_t seed = 0;

  // The fewest places with a standard error of Jaccard() of at most that, whatever the similarity:
  // 0.0079 to 1, exclusively. Throws std::invalid_argument otherwise.
  static MinHashOptions ForError(double standard_error);
};

class MinHash {
 public:
  // Throws std::invalid_argument if the options are outside of their ranges.
  explicit MinHash(const MinHashOptions& options);

  void Add(std::string_view key) { AddHash(KeyHash(key)); }
  void AddHash(uint64_t key_hash);

  // 0 if one of the sets is empty. Throws std::invalid_argument if the options differ.
  static Estimate Jaccard(const MinHash& a, const MinHash& b);

  // Of each place a value that is equal in two sets with the probability of their similarity. All
  // UINT64_MAX if the set is empty. 1 us for 128 places, more the more of them have no key.
  std::vector<uint64_t> Signature() const;

  // Now has the keys of both. False, and nothing changes, if the options differ.
  bool Merge(const MinHash& other);

  bool empty() const;
  size_t MemoryBytes() const;
  const MinHashOptions& options() const { return options_; }
  // The hash of a key that AddHash() wants.
  uint64_t KeyHash(std::string_view key) const;

  std::string Serialize() const;
  // Nothing, with the reason in *error (may be null), if Serialize() did not write these bytes.
  static std::optional<MinHash> Deserialize(std::string_view bytes, std::string* error);

 private:
  friend class MinHashBytes;  // lib/toolbox/min_hash.cc

  MinHashOptions options_;
  std::vector<uint64_t> least_;  // of each place; UINT64_MAX if it is empty
};

// Equal options: what two signatures must have to be compared.
bool operator==(const MinHashOptions& a, const MinHashOptions& b);
inline bool operator!=(const MinHashOptions& a, const MinHashOptions& b) { return !(a == b); }

}  // namespace rocksieve
