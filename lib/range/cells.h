// SPDX-License-Identifier: Apache-2.0
// Keys cut to a depth: what a part of a range filter knows of them.
//
// A depth is a number of bytes. The cell of a key is its first `depth` bytes, filled up with zeros.
// It is taken as a number, that of its last 8 bytes, after a lead, the bytes before. Cutting and
// filling keep the order, so that the keys of a range lie in a range of cells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"

namespace rocksieve::range {

inline constexpr size_t kMaxDepth = 255;
inline constexpr size_t kNumberBytes = 8;

inline size_t LeadBytes(size_t depth) { return depth - std::min(depth, kNumberBytes); }

// Bytes [from, from + count) of a key as a number, most significant first; zeros beyond its end.
// REQUIRES: 1 <= count <= 8.
inline uint64_t NumberAt(std::string_view key, size_t from, size_t count) {
  if (from >= key.size()) return 0;
  uint64_t number = 0;
  if (key.size() - from >= 8) {
    number = __builtin_bswap64(LoadLittleEndian64(key.data() + from));
  } else {
    for (size_t i = from; i < key.size(); i++) {
      number |= uint64_t{ByteAt(key, i)} << (56 - 8 * (i - from));
    }
  }
  return number >> (64 - 8 * count);
}

inline uint64_t NumberOf(std::string_view key, size_t depth) {
  const size_t lead = LeadBytes(depth);
  return NumberAt(key, lead, depth - lead);
}

// The bytes of a cell that are not filled up; keys of one cell have equal ones.
inline std::string_view CellBytes(std::string_view key, size_t depth) {
  std::string_view cell = key.substr(0, depth);
  while (!cell.empty() && cell.back() == '\0') cell.remove_suffix(1);
  return cell;
}

// Equal for keys of one cell. Depths have hash functions of their own.
inline uint64_t CellHash(std::string_view key, size_t depth, uint64_t salt) {
  return HashKey(CellBytes(key, depth), salt + depth);
}

// The cells of the keys in [begin, end), if they have one lead, which is that of `begin`.
struct CellSpan {
  bool known = false;
  uint64_t first = 0, last = 0;
};

// REQUIRES: begin < end.
CellSpan SpanOf(std::string_view begin, std::string_view end, size_t depth);

// Whether both have the same first `bytes` bytes, filled up with zeros.
bool SameLead(std::string_view a, std::string_view b, size_t bytes);

// Bytes that both begin with.
size_t CommonPrefix(std::string_view a, std::string_view b);

}  // namespace rocksieve::range
