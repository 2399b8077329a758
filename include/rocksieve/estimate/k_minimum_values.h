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
// IMPLEMENTATION. lib/sketch/estimators.h, with the sources of the formulas: a theta sketch, whose
// threshold is the k-th smallest hash. Bytes: docs/formats/toolbox.md.
//
// Thread safety: const members from any number of threads at once, others from one alone. Threads
// that add at once have a sketch each, to be merged.
// Cost: Add some 5 ns, 16 bytes times k; an answer sorts what there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rocksieve/estimate/estimate.h>

namespace rocksieve {

class KmvSketch;

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
  KMinimumValues(const KMinimumValues& other);
  KMinimumValues(KMinimumValues&& other) noexcept;
  KMinimumValues& operator=(KMinimumValues other) noexcept;
  ~KMinimumValues();

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
  // then; one in 2^precision may be taken for another. 1 .. 64; 64 writes them whole. A sketch
  // whose hashes became equal by that has a smaller k when it is read.
  std::string Serialize(int precision = 64) const;
  // Nothing, with the reason in *error (may be null), if Serialize() did not write these bytes.
  static std::optional<KMinimumValues> Deserialize(std::string_view bytes, std::string* error);

 private:
  std::unique_ptr<KmvSketch> sketch_;
  uint64_t seed_ = 0;
};

}  // namespace rocksieve
