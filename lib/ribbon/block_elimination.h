// SPDX-License-Identifier: Apache-2.0
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
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/format/span.h"
#include "lib/memory/page_vector.h"
#include "lib/ribbon/elimination.h"

namespace rocksieve::ribbon {

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
