// SPDX-License-Identifier: Apache-2.0
// How many distinct keys does a stream have? Within 1.6 %, in 4 KB, however many there are.
//
//   HyperLogLog visitors(HyperLogLogOptions{});
//   visitors.Add("192.0.2.1");                   // as often as it comes
//   const Estimate count = visitors.DistinctCount();
//
// DESCRIPTION. Duplicates count once; sketches of parts merge into that of the union. With
// m = 2^precision registers the standard error is 1.04 / sqrt(m), up to 2^60 keys. Of all counters
// here the one with the least memory for its error; but it tells nothing of which keys two streams
// share: that is what k_minimum_values.h is for.
//
// IMPLEMENTATION. Each hash goes to one register, which keeps the longest run of zeros, plus one,
// that any of its hashes begins with. The count is alpha m^2 / sum(2^-register), or, if that is at
// most 2.5 m and a register is empty, what the empty ones tell (linear counting). Source: Flajolet,
// Fusy, Gandouet, Meunier, "HyperLogLog: the analysis of a near-optimal cardinality estimation
// algorithm", 2007. Their correction for 32-bit hashes is not needed with 64 bits. Known, and left
// as it is in the paper: between 2.5 m and 5 m keys the mean is too large, by up to 2.5 % of itself
// near 2.5 m (Heule, Nunkesser, Hall, "HyperLogLog in practice", 2013). Bytes:
// docs/formats/toolbox.md.
//
// Thread safety: const members from any number of threads at once, also while others are in
// AddConcurrently(); the other members from one thread alone.
// Cost: Add some 5 ns; a byte per register in memory, 6 bits on the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/estimate/estimate.h>

namespace rocksieve {

struct HyperLogLogOptions {
  int precision = 12;  // log2 of the number of registers, 4 .. 18
  uint64_t seed = 0;

  // The fewest registers with a standard error of at most that share of the count: 0.0021 to 1,
  // exclusively. Throws std::invalid_argument otherwise.
  static HyperLogLogOptions ForError(double standard_error);
};

class HyperLogLog {
 public:
  // Throws std::invalid_argument if the options are outside of their ranges.
  explicit HyperLogLog(const HyperLogLogOptions& options);

  void Add(std::string_view key) { AddHash(KeyHash(key)); }
  void AddHash(uint64_t key_hash);
  // The same, safe in any number of threads at once. Once a sketch has seen many keys, hardly any
  // of them changes it, so that it costs no more.
  void AddConcurrently(std::string_view key) { AddHashConcurrently(KeyHash(key)); }
  void AddHashConcurrently(uint64_t key_hash);

  Estimate DistinctCount() const;

  // Now has the keys of both. False, and nothing changes, if the options differ.
  bool Merge(const HyperLogLog& other);

  size_t MemoryBytes() const;
  const HyperLogLogOptions& options() const { return options_; }
  // The hash of a key that AddHash() wants.
  uint64_t KeyHash(std::string_view key) const;

  std::string Serialize() const;
  // Nothing, with the reason in *error (may be null), if Serialize() did not write these bytes.
  static std::optional<HyperLogLog> Deserialize(std::string_view bytes, std::string* error);

 private:
  HyperLogLogOptions options_;
  std::vector<uint8_t> registers_;
};

}  // namespace rocksieve
