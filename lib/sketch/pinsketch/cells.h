// SPDX-License-Identifier: Apache-2.0
// Where a key stands in a partitioned PinSketch: groups of cells, and the id of a cell in its
// group.
//
//   group = (upper 32 bits of the hash * groups) >> 32
//   id    = 1 + ((lower 32 bits of the hash * (2^k - 1)) >> 32)
//
// An odd cell is one that holds an odd number of a set's keys: sums over GF(2^k) see no others.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/hash/mix.h"
#include "lib/memory/page_pool.h"

namespace rocksieve::pinsketch {

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

}  // namespace rocksieve::pinsketch
