// SPDX-License-Identifier: Apache-2.0
// The linear equations of a filter over GF(2), added bucket after bucket, and their solution. What
// can be solved, and the solution that leaves all slots 0 that no equation needs, depend on the
// equations only, not on the way in which they are eliminated: instruction sets have their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/format/payload.h"
#include "lib/memory/page_pool.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {

// A bucket with more keys comes of keys that somebody chose: in random sets of any size that fits
// into a filter, the largest buckets have some 500.
inline constexpr size_t kMostKeysOfBucket = 1024;

// Groups that a bucket is tried with, at most: more than the largest with its backlog, and all
// lengths that are tried beyond that (builder.h), can ask for.
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

// The linear equations of a filter over GF(2), kept in echelon form: one per slot, or none.

// Invariants: the equation of slot s, if there is one, selects slot s, none before it, and none at
// or beyond s + 64; bit i of coefficients()[s] is slot s + i. A slot without an equation has 0.
//
// Which slots have equations, and the solution that leaves all other slots 0, depend on the set of
// equations added, not on their order.
class Equations {
 public:
  explicit Equations(size_t slots) { GrowTo(slots); }

  size_t slots() const { return coefficients_.size(); }
  void GrowTo(size_t slots) {
    coefficients_.resize(slots, 0);
    results_.resize(slots, 0);
  }

  // What an Add() did, so that it can be taken back.
  struct Added {
    size_t base_slot = 0;
    size_t count = 0;
    std::vector<uint32_t> slots;  // from base_slot on
  };

  // Adds all of them; or none, and returns false, if they and what is there depend on each other.
  // REQUIRES: base_slot + first_slot + 64 <= slots().
  bool Add(Span<const Equation> equations, size_t base_slot, Added* added);

  // REQUIRES: what was added later has been taken back.
  void TakeBack(const Added& added);

  // Slots without an equation.
  size_t CountFree(size_t begin_slot, size_t end_slot) const;

  const uint64_t* coefficients() const { return coefficients_.data(); }
  const uint32_t* results() const { return results_.data(); }

 private:
  // 12 bytes per slot, not 16: in two arrays.
  PageVector<uint64_t> coefficients_;
  PageVector<uint32_t> results_;
};

// Elimination one equation after the other, for any machine.

class ChainElimination final : public Elimination {
 public:
  using BackSubstitution = void (*)(const Equations& equations, const GroupLayout& layout,
                                    uint8_t* group_bytes);

  ChainElimination(size_t keys, BackSubstitution back_substitution);

  bool AddBucket(Span<const uint64_t> hashes, uint64_t groups, bool last) override;
  void TakeBack() override;
  int64_t Backlog() const override;
  void BackSubstitute(const GroupLayout& layout, uint8_t* group_bytes) const override {
    back_substitution_(equations_, layout, group_bytes);
  }

 private:
  void SortIntoEquations(Span<const uint64_t> hashes, uint64_t groups, bool last);

  const BackSubstitution back_substitution_;
  Equations equations_;
  size_t slots_ = 0;              // of the buckets added
  size_t slots_of_last_ = 0;      // of the last of them
  Equations::Added added_, try_;  // by the last of them; by one that could not be
  std::vector<Equation> sorted_;
};

// Elimination of eight slots at a time, for instruction sets that multiply matrices of bits.
//
// From left to right, group after group. At any time there are up to 64 rows on their way: those
// that begin in the group and those from before that have no slot yet. Eight of them, whose bits in
// the group are an invertible matrix, become its equations; the inverse tells what has to be added
// to each of the others so that it selects none of the group's slots any more. So an equation takes
// a fixed number of operations on all rows at once, and no branch depends on its bits.
//
// Rows stand as planes: plane j has byte j of all of them, which is what they select in the group j
// behind. A step to the next group renames the planes.

inline constexpr int kMostResultBytes = 4;
inline constexpr size_t kMostRowsOnTheirWay = 64;  // more depend on each other

// Rows on their way. A place without a row has zeros.
struct PendingRows {
  alignas(64) uint8_t selected[kGroupsPerRow][kMostRowsOnTheirWay];
  alignas(64) uint8_t results[kMostResultBytes][kMostRowsOnTheirWay];
  uint64_t places_with_rows;
};

// The rows of a bucket by the first group of which they select slots, as planes likewise. What
// stands behind the last row may be anything.
struct SortedRows {
  static constexpr size_t kCapacity = kMostKeysOfBucket + kMostRowsOnTheirWay;

  uint16_t begin_of_group[kMostGroupsTried + 1];
  bool folded;  // else planes 2 and 3 are zeros, and not written
  alignas(64) uint8_t selected[kGroupsPerRow][kCapacity];
  alignas(64) uint8_t results[kMostResultBytes][kCapacity];
  // While they are sorted.
  alignas(64) uint16_t group[kCapacity];
  alignas(64) uint64_t hashes[kCapacity];
};

// The equations of a group, which select none of its own slots but their own: slot k is the sum of
// its result and what it selects in the groups behind. As matrices of bits, row k in byte 7 - k.
struct alignas(64) GroupEquations {
  uint64_t selected[kGroupsPerRow - 1];  // of the first group behind, the second ..
  uint64_t results;                      // their lowest byte
};

// What an instruction set does; all sets have the same equations. `result_bytes` is 1, 2 or 4.
// Of results, bytes beyond the first are matrices likewise, result_bytes - 1 of them for a group.
struct BlockFunctions {
  // REQUIRES: it is not the last bucket.
  void (*sort)(Span<const uint64_t> hashes, uint64_t groups, int result_bytes, SortedRows* rows);
  // Adds the rows of a bucket to those before; false if they depend on each other.
  bool (*eliminate)(const SortedRows& rows, uint64_t groups, int result_bytes,
                    const PendingRows& before, PendingRows* after, GroupEquations* equations,
                    uint64_t* more_results);
  void (*back_substitute)(const GroupEquations* equations, const uint64_t* more_results,
                          int result_bytes, const GroupLayout& layout, uint8_t* group_bytes);
};

class BlockElimination final : public Elimination {
 public:
  BlockElimination(size_t keys, int most_columns, const BlockFunctions& functions);

  bool AddBucket(Span<const uint64_t> hashes, uint64_t groups, bool last) override;
  void TakeBack() override;
  int64_t Backlog() const override;
  void BackSubstitute(const GroupLayout& layout, uint8_t* group_bytes) const override;

 private:
  void ReserveGroups(uint64_t groups);
  void SortLastBucket(Span<const uint64_t> hashes, uint64_t groups);

  const BlockFunctions& functions_;
  const int result_bytes_;
  uint64_t groups_ = 0;          // of the buckets added
  uint64_t groups_of_last_ = 0;  // of the last of them
  SortedRows rows_;
  // Behind the last bucket, behind the one before, and one that is made.
  PendingRows pending_[3];
  int now_ = 0, before_ = 1, next_ = 2;
  PageVector<GroupEquations> equations_;
  PageVector<uint64_t> more_results_;
};

}  // namespace rocksieve::ribbon
