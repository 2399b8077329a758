// SPDX-License-Identifier: Apache-2.0
// The linear equations of a filter over GF(2), added bucket after bucket, and their solution. What
// can be solved, and the solution that leaves all slots 0 that no equation needs, depend on the
// equations only, not on the way in which they are eliminated: instruction sets have their own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/format/span.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {

// A bucket with more keys comes of keys that somebody chose: in random sets of any size that fits
// into a filter, the largest buckets have some 500.
inline constexpr size_t kMostKeysOfBucket = 1024;

// Groups that a bucket is tried with, at most: more than the largest with its backlog, and all
// lengths that are tried beyond that (steering.h), can ask for.
inline constexpr uint64_t kMostGroupsTried = 512;

// Where groups stand, and how wide they are.
struct GroupLayout {
  int columns = 0;  // of narrow groups
  uint64_t groups = 0;
  uint64_t first_wide_group = 0;  // may lie beyond the last group

  uint64_t Byte(uint64_t group) const { return GroupByte(group, columns, first_wide_group); }
  bool has_wide_groups() const { return first_wide_group < groups; }
};

// What one key demands: the XOR of the slots that `coefficients` selects is `result`. Bit i stands
// for the slot first_slot + i.
struct Equation {
  uint64_t coefficients;
  uint32_t first_slot;  // counted from the base that Add() is given
  uint32_t result;
};

// The equation of a row, slots counted from the bucket's first, groups likewise.
inline Equation EquationOf(const Row& row, uint64_t first_group, uint64_t hash) {
  const uint64_t coefficients = row.Coefficients();
  return {(coefficients & 0xFFFF) | (coefficients >> 16 & 0xFF)
                                        << (kSlotsPerGroup * row.ThirdGroupDistance()),
          static_cast<uint32_t>(first_group * kSlotsPerGroup), Fingerprint(hash)};
}

// In the last bucket, where it may be folded: its first slot lies before the row's first group
// then.
Equation EquationInLastBucket(const Row& row, uint64_t first_group, uint64_t hash, uint64_t groups);

//   (AddBucket TakeBack?)* BackSubstitute
class Elimination {
 public:
  virtual ~Elimination() = default;

  // Adds the equations of the next bucket, if it has so many groups. Or none, and returns false, if
  // they and what is there depend on each other. In the last bucket rows are folded.
  // REQUIRES: at most kMostKeysOfBucket hashes, 1 to kMostGroupsTried groups.
  virtual bool AddBucket(Span<const uint64_t> hashes, uint64_t groups, bool last) = 0;

  // Takes the bucket back that was added last. REQUIRES: there is one that was not taken back, and
  // none was taken back since.
  virtual void TakeBack() = 0;

  // Rows of the buckets added that have their slots behind the end of the last one.
  virtual int64_t Backlog() const = 0;

  // Solves the equations from the last group to the first, slots without an equation being 0, and
  // writes the groups.
  virtual void BackSubstitute(const GroupLayout& layout, uint8_t* group_bytes) const = 0;
};

}  // namespace rocksieve::ribbon
