// SPDX-License-Identifier: Apache-2.0
// What is asked of range filters, counted, so that new ones have the parts that answer it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/range/cells.h"

namespace rocksieve::range {

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

}  // namespace rocksieve::range
