// SPDX-License-Identifier: Apache-2.0
// How many distinct keys does a stream have? The first of all such counters, of 1985.
//
//   FlajoletMartin visitors(FlajoletMartinOptions{});
//   visitors.Add("192.0.2.1");                   // as often as it comes
//   visitors.DistinctCount().value;              // within 4.9 % or so
//
// DESCRIPTION. Duplicates count once; sketches of parts merge into that of the union. With m
// bitmaps the standard error is 0.78 / sqrt(m). HyperLogLog (hyper_log_log.h) has 1.04 / sqrt(m),
// but needs 6 bits where this one needs a whole bitmap, and so is 3 times as exact in the same
// memory; and k_minimum_values.h tells of overlaps too. This type is here for the comparison, and
// to read what follows that literature.
//
// IMPLEMENTATION. Probabilistic counting with stochastic averaging (PCSA): each hash sets one bit
// of one bitmap, bit r with probability 2^-(r+1). R being the number of ones before the lowest zero
// and R' its mean over the bitmaps, the count is m / 0.77351 * 2^R' / (1 + 0.31 / m): Flajolet and
// Martin, "Probabilistic counting algorithms for data base applications", 1985, with their
// correction of the bias. That is too much for few keys. So 2^(-1.75 R') is subtracted from 2^R'
// (Scheuermann and Mauve, "Near-optimal compression of probabilistic counting sketches", 2007),
// and up to 2 m keys, and less and less so up to 4 m, the empty bitmaps are counted instead (Whang,
// Vander-Zanden, Taylor, "A linear-time probabilistic counting algorithm", 1990). The bias that is
// left is about 1 %.
// Bytes: docs/formats/toolbox.md.
//
// Thread safety: const members from any number of threads at once, also while others are in
// AddConcurrently(); the other members from one thread alone.
// Cost: Add some 5 ns, 8 bytes per bitmap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/estimate/estimate.h>

namespace rocksieve {

struct FlajoletMartinOptions {
  uint64_t bitmaps = 256;  // a power of two, 16 .. 65536
  uint64_t seed = 0;
};

class FlajoletMartin {
 public:
  // Throws std::invalid_argument if the options are outside of their ranges.
  explicit FlajoletMartin(const FlajoletMartinOptions& options);

  void Add(std::string_view key) { AddHash(KeyHash(key)); }
  void AddHash(uint64_t key_hash);
  // The same, safe in any number of threads at once. Once a sketch has seen many keys, hardly any
  // of them changes it, so that it costs no more.
  void AddConcurrently(std::string_view key) { AddHashConcurrently(KeyHash(key)); }
  void AddHashConcurrently(uint64_t key_hash);

  Estimate DistinctCount() const;

  // Now has the keys of both. False, and nothing changes, if the options differ.
  bool Merge(const FlajoletMartin& other);

  size_t MemoryBytes() const;
  const FlajoletMartinOptions& options() const { return options_; }
  // The hash of a key that AddHash() wants.
  uint64_t KeyHash(std::string_view key) const;

  std::string Serialize() const;
  // Nothing, with the reason in *error (may be null), if Serialize() did not write these bytes.
  static std::optional<FlajoletMartin> Deserialize(std::string_view bytes, std::string* error);

 private:
  FlajoletMartinOptions options_;
  int index_bits_;  // of the hash, which choose the bitmap
  std::vector<uint64_t> bitmaps_;
};

}  // namespace rocksieve
