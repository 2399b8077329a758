// SPDX-License-Identifier: Apache-2.0
#include "lib/range/query_mix.h"

#include <algorithm>
#include <numeric>

namespace rocksieve::range {

RangeShape ShapeOf(std::string_view begin, std::string_view end) {
  constexpr uint64_t kMostCellsBelow = 65536;
  const size_t longest = std::min(std::max(begin.size(), end.size()), kMaxDepth);
  RangeShape shape;
  // As long as both bounds have the same bytes, there is one cell.
  shape.depth = std::min(CommonPrefix(begin, end), longest);
  for (size_t depth = shape.depth + 1; depth <= kMaxDepth; depth++) {
    const CellSpan span = SpanOf(begin, end, depth);
    const bool is_small = span.known && span.last - span.first < kMostCells;
    if (!is_small || depth > longest) {
      shape.cells_below = span.known && span.last - span.first < kMostCellsBelow
                              ? span.last - span.first + 1
                              : kMostCellsBelow;
      break;
    }
    shape.depth = depth;
  }
  return shape;
}

uint64_t QueryMix::range_count() const {
  return std::accumulate(ranges.begin(), ranges.end(), uint64_t{0});
}

}  // namespace rocksieve::range
