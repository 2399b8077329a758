// SPDX-License-Identifier: Apache-2.0
// Where a key stands in a partitioned PinSketch: groups of cells, and the id of a cell in its
// group.
//
//   group = (upper 32 bits of the hash * groups) >> 32
//   id    = 1 + ((lower 32 bits of the hash * (2^k - 1)) >> 32)
//
// An odd cell is one that holds an odd number of a set's keys: sums over GF(2^k) see no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/hash/mix.h"
#include "lib/memory/page_vector.h"

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

}  // namespace rocksieve::pinsketch
