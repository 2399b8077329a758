// SPDX-License-Identifier: Apache-2.0
// Keys cut to a depth: what a part of a range filter knows of them; what is asked of it, and the
// list of keys that it is made of.
//
// A depth is a number of bytes. The cell of a key is its first `depth` bytes, filled up with zeros.
// It is taken as a number, that of its last 8 bytes, after a lead, the bytes before. Cutting and
// filling keep the order, so that the keys of a range lie in a range of cells.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/format/byte_io.h"
#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"

namespace rocksieve::range {

inline constexpr size_t kMaxDepth = 255;
inline constexpr size_t kNumberBytes = 8;

inline size_t LeadBytes(size_t depth) { return depth - std::min(depth, kNumberBytes); }

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

// What is asked of range filters, counted, so that new ones have the parts that answer it.

// Cells that a part of prefixes is asked for one by one.
inline constexpr uint64_t kMostCells = 4;

// Cells of an order that a small range touches, each of which may be wrong.
inline constexpr double kCellsOfSmallRange = 2;

// The greatest depth at which a range lies in up to kMostCells cells, which a part of prefixes of
// that length would be asked for; and how many cells it has one byte deeper, at most 65,536.
struct RangeShape {
  size_t depth = 0;
  uint64_t cells_below = 0;
};

// REQUIRES: begin < end. Cost: some 100 ns.
RangeShape ShapeOf(std::string_view begin, std::string_view end);

struct QueryMix {
  uint64_t lookups = 0;  // of single keys
  // By the depth of their shape: ranges, and their cells below, added up.
  std::array<uint64_t, kMaxDepth + 1> ranges{};
  std::array<uint64_t, kMaxDepth + 1> cells_below{};
  // The share of all queries that each kind is taken to have, even if fewer were heard: what is
  // asked changes more quickly than files.
  double least_share = 0.02;

  uint64_t range_count() const;
  uint64_t count() const { return lookups + range_count(); }
};

// The keys of one filter, kept until it is known how they are best cut.

// Keys come mostly in ascending order and are kept without the bytes that they share with the one
// before. Others are kept as they are, and sorted by Sort(). Memory: two bytes per key more than
// what they do not share.
class KeyList {
 public:
  void Add(std::string_view key);

  // Keys that are there, adjacent duplicates counted once.
  uint64_t size() const { return size_; }
  // Whether they have come so.
  bool ascend() const { return sorted_; }

  // Sorts, and drops duplicates, if that is needed. All below REQUIRES it.
  void Sort();

  std::string_view first() const { return first_; }
  std::string_view last() const { return last_; }
  size_t shortest() const { return shortest_; }
  size_t longest() const { return longest_; }
  // Bytes that all begin with.
  size_t common_prefix() const { return size_ == 0 ? 0 : CommonPrefix(first_, last_); }
  // Keys that differ in their first `depth` bytes, 0 to kMaxDepth.
  uint64_t DistinctAt(size_t depth) const;

  // Calls visit(key, shared) in ascending order; `shared` are the bytes that the key has in common
  // with the one before, 0 for the first.
  template <typename Visit>
  void ForEach(Visit visit) const {
    std::string key;
    for (ByteReader in(bytes_); in.remaining() > 0;) {
      const size_t shared = in.Varint();
      key.resize(shared);
      key.append(in.String());
      visit(std::string_view(key), shared);
    }
  }

  void Clear() { *this = KeyList(); }

 private:
  std::string bytes_;  // of each key: the length shared, as a varint, and the rest, as a string
  std::string first_, last_;
  uint64_t size_ = 0;
  size_t shortest_ = SIZE_MAX, longest_ = 0;
  bool sorted_ = true;
  std::array<uint64_t, kMaxDepth + 1> differ_at_{};  // keys by the bytes that they share
};

}  // namespace rocksieve::range
