// SPDX-License-Identifier: Apache-2.0
// In which of n positions do two sides differ, where each has a flag, 0 or 1, at each of them? A
// partitioned PinSketch of the positions with flag 1, in which every position has a cell of its
// own: a differing cell is a differing position, and no two of them ever cancel out. So a
// difference costs a few bits more than the logarithm of the positions per difference, and nothing
// is left.
//
// DESCRIPTION. The positions are cut into blocks of as many as there are groups. A block has one
// position in each group, whose id is the number of the block, and begins at a group that the salt
// chooses: differences that stand side by side, or at any distances, spread over the groups. Bytes:
// docs/formats/sketches.md.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/format/coding.h"
#include "lib/hash/mix.h"
#include "lib/memory/page_pool.h"

namespace rocksieve::pinsketch {

// Where a key stands in a partitioned PinSketch: groups of cells, and the id of a cell in its
// group.
//
// An odd cell is one that holds an odd number of a set's keys: sums over GF(2^k) see no others.

struct Cell {
  uint32_t group, id;
};

inline Cell CellOf(uint64_t hash, uint32_t groups, int field_bits) {
  const uint64_t ids = (uint64_t{1} << field_bits) - 1;
  return {static_cast<uint32_t>((hash >> 32) * groups >> 32),
          static_cast<uint32_t>(1 + ((hash & 0xffffffff) * ids >> 32))};
}

// A hash that stands in the cell. REQUIRES: group < groups, 1 <= id < 2^field_bits.
inline uint64_t HashOf(const Cell& cell, uint32_t groups, int field_bits) {
  const uint64_t ids = (uint64_t{1} << field_bits) - 1;
  const uint64_t upper = ((uint64_t{cell.group} << 32) + groups - 1) / groups;
  const uint64_t lower = ((uint64_t{cell.id - 1} << 32) + ids - 1) / ids;
  return upper << 32 | lower;
}

struct CellEntry {
  uint32_t id;
  uint32_t index;  // of the hash in the span that the table was made of
};

// All keys of a set by group. 8 bytes per key, 4 per group.
class CellTable {
 public:
  // REQUIRES: fewer than 2^32 hashes.
  CellTable(std::span<const uint64_t> hashes, uint32_t groups, int field_bits);

  uint32_t groups() const { return static_cast<uint32_t>(begin_.size() - 1); }
  size_t size() const { return entries_.size(); }
  // By index.
  std::span<const CellEntry> Group(uint32_t group) const {
    return std::span(entries_).subspan(begin_[group], begin_[group + 1] - begin_[group]);
  }
  static uint64_t MemoryFor(uint32_t groups, size_t hashes) {
    return hashes * sizeof(CellEntry) + (uint64_t{groups} + 1) * sizeof(uint32_t);
  }

 private:
  std::vector<uint32_t> begin_;
  PageVector<CellEntry> entries_;
};

inline uint32_t CellCheck(uint32_t group, uint32_t id) {
  return static_cast<uint32_t>(Mix64((uint64_t{group} << 32 | id) + 0x9e3779b97f4a7c15) >> 32);
}

// The cells of one group at a time, as bits: which of them hold an odd number of a side's keys, one
// key, or none; and which of them were named.

// Work on a group takes time by its entries, however many cells it has.
class GroupCells {
 public:
  explicit GroupCells(int field_bits)
      : counts_(((size_t{1} << field_bits) + 63) / 64),
        named_(counts_.size()),
        touched_((counts_.size() + 63) / 64) {}

  // From now on speaks of the cells of these, of which none is named.
  void Take(std::span<const CellEntry> entries);

  void Name(uint32_t id) {
    named_[id / 64] |= BitOf(id);
    Touch(id);
  }
  bool IsNamed(uint32_t id) const { return (named_[id / 64] & BitOf(id)) != 0; }
  bool HoldsOneKey(uint32_t id) const {
    const Count& count = counts_[id / 64];
    return (count.odd & ~count.many & BitOf(id)) != 0;
  }
  size_t OddCells() const {
    size_t cells = 0;
    ForEachTouched(
        [&](size_t word) { cells += static_cast<size_t>(std::popcount(counts_[word].odd)); });
    return cells;
  }
  // visit(id), ascending; may name cells.
  template <typename Visit>
  void ForEachOdd(Visit visit) const {
    ForEachTouched([&](size_t word) { ForEachBit(word, counts_[word].odd, visit); });
  }
  // Of the other side, if the named cells are those in which the two differ: visit(id, is_empty),
  // ascending; whether this side has no key there.
  template <typename Visit>
  void ForEachOddOfOther(Visit visit) const {
    ForEachTouched([&](size_t word) {
      const uint64_t held = counts_[word].odd | counts_[word].many;
      ForEachBit(word, counts_[word].odd ^ named_[word],
                 [&](uint32_t id) { visit(id, (held & BitOf(id)) == 0); });
    });
  }

 private:
  // Of 64 cells: an odd number of keys, more than one.
  struct Count {
    uint64_t odd = 0, many = 0;
  };

  static uint64_t BitOf(uint32_t id) { return uint64_t{1} << (id % 64); }
  void Touch(uint32_t id) { touched_[id / 4096] |= uint64_t{1} << (id / 64 % 64); }
  void Add(uint32_t id) {
    Count& count = counts_[id / 64];
    count.many |= count.odd & BitOf(id);
    count.odd ^= BitOf(id);
  }
  template <typename Visit>
  static void ForEachBit(size_t word, uint64_t bits, Visit visit) {
    for (; bits != 0; bits &= bits - 1) {
      visit(static_cast<uint32_t>(64 * word + static_cast<size_t>(std::countr_zero(bits))));
    }
  }
  template <typename Visit>
  void ForEachTouched(Visit visit) const {
    for (size_t i = 0; i < touched_.size(); i++) {
      if (touched_[i] == ~uint64_t{0}) {
        for (size_t word = 64 * i; word < 64 * i + 64; word++) visit(word);
      } else {
        ForEachBit(i, touched_[i], visit);
      }
    }
  }

  std::vector<Count> counts_;
  std::vector<uint64_t> named_;
  std::vector<uint64_t> touched_;  // bit i: word i of the others may have bits
};

// How a partitioned PinSketch is laid out: field, groups, how many sums of each group are sent as
// they are, and how many parity symbols for each level above.

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

// What a plan for positions is made of. Both sides make it of these numbers, by integers alone; the
// page's u is what 256 times as many groups need of a level.
struct PositionPlan {
  int field_bits = 0;
  uint32_t groups = 0;
  int raw_levels = 0;
  uint32_t mean_16ths = 0;  // differences of a group, expected, in sixteenths

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
