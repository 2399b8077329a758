// SPDX-License-Identifier: Apache-2.0
// In which of n positions do two sides differ, where each has a flag, 0 or 1, at each of them? A
// partitioned PinSketch of the positions with flag 1, in which every position has a cell of its
// own: a differing cell is a differing position, and no two of them ever cancel out. So a
// difference costs a few bits more than the logarithm of the positions per difference, and nothing
// is left.
//
// DESCRIPTION. The positions are cut into blocks of as many as there are groups. A block has one
// position in each group, whose id is the number of the block, and begins at a group that the salt
// chooses: differences that stand side by side, or at any distances, spread over the groups.
//
//   block = position / groups, rounded down
//   group = (position + (SplitMix64(salt, block) * groups >> 64)) mod groups
//   id    = 1 + block
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/format/coding.h"
#include "lib/hash/mix.h"
#include "lib/sketch/pinsketch/cells.h"

namespace rocksieve::pinsketch {

// How a partitioned PinSketch is laid out: field, groups, how many sums of each group are sent as
// they are, and how many parity symbols for each level above.
//
//   field bits    u8, 6 .. 20
//   groups        varint, 1 .. 2^32 - 1
//   raw levels    u8, 1 .. 96
//   levels        u8: the number of parity levels; raw + parity levels <= 96
//   symbols       varint for each of them, 0 .. groups

inline constexpr int kMostLevels = 96;  // three times what a right plan needs
inline constexpr uint32_t kGroupsPerCheck = 64;
inline constexpr int kCheckBits = 32;
inline constexpr uint32_t kFewGroups = 4;  // no parity among fewer

struct Plan {
  int field_bits = 0;
  uint32_t groups = 0;
  int raw_levels = 0;
  std::vector<uint32_t> parity_symbols;  // of level raw_levels + 1, raw_levels + 2 ..

  int Levels() const { return raw_levels + static_cast<int>(parity_symbols.size()); }
  uint32_t Checks() const { return (groups - 1) / kGroupsPerCheck + 1; }
  // Of the sketch without the plan, in whole bytes.
  uint64_t SketchBytes() const;
  // What either side needs at most, about, apart from its keys: the receiver of a sketch from which
  // nothing can be decoded.
  uint64_t MemoryBytes() const;
  bool operator==(const Plan&) const = default;

  void Write(ByteWriter* out) const;
  // False, with the reader failed, for values outside the limits. Look at SketchBytes() and
  // MemoryBytes() before a sketch of the plan is made or read.
  bool Read(ByteReader* in);
};

// The cheapest plan that decodes `differences` (in the mean) in one message but for about one time
// in 100, with 2^cells_per_key_log2 cells for each of `keys` keys of the larger side. More cells
// cost a bit each per difference, and halve the keys that share a cell with a difference. `keys`
// and `differences` may be any finite numbers >= 0.
Plan MakePlan(double keys, double differences, double cells_per_key_log2);

// Raw levels, at least so many, with which so many wrong decodings are expected of a sketch at the
// first attempt; and those of few groups.
int RawLevels(double groups, double per_group, int least, double wrong_decodings);
int RawLevelsWithoutParity(double per_group);

// The chance that a Poisson-distributed number with this mean is at least n.
double PoissonAtLeast(double mean, int n);

// What a plan for positions is made of. Both sides make it of these numbers, by integers alone.
//
//   field bits    u8, 6 .. 20
//   groups        varint, 1 .. 2^32 - 1; each has 2^k - 1 ids, and all have one for each position
//   raw levels    u8, 1 .. 48
//   mean          varint: differences of a group, expected, in sixteenths; 0 .. 640
//
// Of fewer than 4 groups there are no parity levels. Else, with m the mean in sixteenths, w(0) =
// 2^24, w(i) = w(i - 1) m / (16 i) and t(j) = w(j) + w(j + 1) + .., each division rounded down, u =
// 256 groups t(j) / t(0) is what 256 times as many groups need of level j. As long as u is at least
// 128 (up to level 96), the level has (26 u / 25 + sqrt(256 u) + 1279) / 256 symbols, each term
// rounded down and then the sum; at most one for each group.
struct PositionPlan {
  int field_bits = 0;
  uint32_t groups = 0;
  int raw_levels = 0;
  uint32_t mean_16ths = 0;

  bool operator==(const PositionPlan&) const = default;
  Plan Made() const;
  // Whether the groups have cells for so many positions.
  bool Fits(uint64_t positions) const {
    return positions < uint64_t{1} << 31 &&
           positions <= uint64_t{groups} * ((uint64_t{1} << field_bits) - 1);
  }

  void Write(ByteWriter* out) const;
  // False, with the reader failed, for values outside the limits.
  bool Read(ByteReader* in);
};

// The cheapest one that decodes `differences` (in the mean) in one message, or asks for little
// more. `positions` < 2^31; `differences` may be any finite number >= 0.
PositionPlan MakePositionPlan(uint64_t positions, double differences);

class Positions {
 public:
  // REQUIRES: the plan fits so many.
  Positions(const PositionPlan& plan, uint64_t count, uint64_t salt)
      : field_bits_(plan.field_bits), groups_(plan.groups), count_(count), salt_(salt) {}

  Cell CellOf(uint64_t position) const {
    const uint64_t block = position / groups_, place = position % groups_ + Begin(block);
    return {static_cast<uint32_t>(place < groups_ ? place : place - groups_),
            static_cast<uint32_t>(1 + block)};
  }
  // Nothing if there is no position with that cell. REQUIRES: a cell of the plan.
  std::optional<uint64_t> At(const Cell& cell) const {
    const uint64_t block = cell.id - 1, begin = Begin(block);
    const uint64_t place = cell.group >= begin ? cell.group - begin : cell.group + groups_ - begin;
    const uint64_t position = block * groups_ + place;
    if (position >= count_) return std::nullopt;
    return position;
  }

  // For PartitionedEncoder and PartitionedDecoder: the positions with flag 1, as hashes. REQUIRES:
  // count flags.
  std::vector<uint64_t> HashesOf(std::span<const uint8_t> flags) const;

 private:
  uint64_t Begin(uint64_t block) const { return MultiplyHigh64(SplitMix64(salt_, block), groups_); }

  const int field_bits_;
  const uint64_t groups_, count_, salt_;
};

}  // namespace rocksieve::pinsketch
