// SPDX-License-Identifier: Apache-2.0
// How large are two sets, and how much do they share? From the k smallest hashes of each.
//
//   KMinimumValues monday(KMinimumValuesOptions{}), tuesday(KMinimumValuesOptions{});
//   monday.Add("192.0.2.1");                     // as often as it comes
//   const OverlapEstimate overlap = KMinimumValues::Overlap(monday, tuesday);
//   overlap.both.value;                          // in both, give or take
//   overlap.both.standard_error;
//
// DESCRIPTION. Duplicates count once; sketches of parts merge into that of the union. Sets of fewer
// than k keys are kept whole: then everything is exact. Otherwise a number N of keys (distinct, in
// both, in either) is known with standard error sqrt(N (1 - t) / t), t being the share of all keys
// of the larger set that the sketches have, about k / (keys of the larger set): 3 % of the larger
// set's size at k = 1024, however small the number is. hyper_log_log.h counts in fewer bytes, but
// tells nothing of the intersection; min_hash.h has a signature of fixed places, which LSH needs.
//
// IMPLEMENTATION. Let t be the k-th smallest hash as a fraction of 2^64, or 1 while there are
// fewer; of two sketches, the smaller of the two. The s hashes below t are a sample with
// probability t of each key, so s / t estimates the number of keys, without bias, and so for those
// in both. Sources: Bar-Yossef et al., "Counting distinct elements in a data stream", 2002; Beyer
// et al., "On synopses for distinct-value estimation", 2007; Dasgupta, Lang, Rhodes, Thaler, "A
// framework for estimating stream expression cardinalities", 2016 (the common threshold). Bytes:
// docs/formats/toolbox.md.
//
// Thread safety: const members from any number of threads at once, others from one alone. Threads
// that add at once have a sketch each, to be merged.
// Cost: Add some 5 ns, 16 bytes times k; an answer sorts what there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksieve/estimate/estimate.h>

namespace rocksieve {

struct KMinimumValuesOptions {
  uint64_t k = 1024;  // hashes that are kept, 3 .. 2^20
  uint64_t seed = 0;

  // The fewest hashes with a standard error of DistinctCount() of at most that share of the count:
  // 0.001 to 1, exclusively at 1. Throws std::invalid_argument otherwise.
  static KMinimumValuesOptions ForError(double standard_error);
};

class KMinimumValues {
 public:
  // Throws std::invalid_argument if the options are outside of their ranges.
  explicit KMinimumValues(const KMinimumValuesOptions& options);

  void Add(std::string_view key) { AddHash(KeyHash(key)); }
  void AddHash(uint64_t key_hash);

  Estimate DistinctCount() const;

  // Throws std::invalid_argument if the seeds differ.
  static OverlapEstimate Overlap(const KMinimumValues& a, const KMinimumValues& b);

  // Now has the keys of both, and the smaller k of the two. False, and nothing changes, if the
  // seeds differ.
  bool Merge(const KMinimumValues& other);

  size_t MemoryBytes() const;
  KMinimumValuesOptions options() const;
  // The hash of a key that AddHash() wants.
  uint64_t KeyHash(std::string_view key) const;

  // Each hash is cut to `precision` bits below their mean gap, and costs about precision + 2 bits
  // then; one in 2^precision may be taken for another, and of a set R times as large one in
  // 2^precision / R: estimates subtract what chance makes equal, and their errors say so. 1 .. 64;
  // 64 writes them whole. A sketch whose hashes became equal by that has a smaller k when it is
  // read.
  std::string Serialize(int precision = 64) const;
  // Nothing, with the reason in *error (may be null), if Serialize() did not write these bytes.
  static std::optional<KMinimumValues> Deserialize(std::string_view bytes, std::string* error);

 private:
  // All hashes below the threshold, in order and distinct without `shift` low bits.
  struct Known {
    std::vector<uint64_t> values;
    uint64_t threshold;
    int shift;  // shift_, or less where most hashes would become equal by it
  };
  Known WhatIsKnown() const;
  // The distinct smallest hashes in order, at most k.
  std::vector<uint64_t> Sorted() const;
  void Compact();

  // In no order, with duplicates, fewer than 2 k. The first member: where there is no memory for a
  // copy of it, an assignment has changed nothing.
  std::vector<uint64_t> values_;
  size_t k_;
  uint64_t seed_;
  int shift_ = 0;                // low bits that were lost on the wire, and are 0
  uint64_t limit_ = UINT64_MAX;  // hashes from here on cannot be among the k smallest
};

}  // namespace rocksieve
