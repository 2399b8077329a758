// SPDX-License-Identifier: Apache-2.0
// The key space of a tree, divided by the ends of its files' ranges, and where entries lie in it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "lib/budget/key_scale.h"
#include "lib/budget/lookup_weights.h"

namespace rocksieve {

// Cells first to last, the last one excluded.
struct CellRange {
  size_t first = 0, last = 0;
};

// The cells between the ends of the files' ranges, in order: one at each distinct end, of no width,
// and one between it and the next: the ranges include their ends, so files that meet in a key
// overlap there, and files of one key have a place. Holds views of the files' keys.
class KeyCells {
 public:
  explicit KeyCells(const std::vector<BudgetedFile>& files);

  size_t count() const { return keys_.empty() ? 0 : 2 * keys_.size() - 1; }
  // The keys where it begins and ends, the same for a cell of no width; and these as positions.
  std::string_view first_key(size_t cell) const { return keys_[cell / 2]; }
  std::string_view last_key(size_t cell) const { return keys_[(cell + 1) / 2]; }
  double begin(size_t cell) const { return positions_[cell / 2]; }
  double end(size_t cell) const { return positions_[(cell + 1) / 2]; }
  double width(size_t cell) const { return end(cell) - begin(cell); }
  double WidthOf(CellRange range) const { return end(range.last - 1) - begin(range.first); }
  // The cells that a file's entries lie in.
  CellRange RangeOf(size_t file) const { return ranges_[file]; }
  // On which the positions are.
  const KeyScale& scale() const { return scale_; }

  // Entries in all cells before each, and in all of them: a file's are spread over its cells in
  // proportion to their width, and for a small part evenly.
  std::vector<double> EntriesBefore(const std::vector<BudgetedFile>& files) const;

 private:
  KeyScale scale_;
  std::vector<CellRange> ranges_;
  std::vector<std::string_view> keys_;  // distinct, in order
  std::vector<double> positions_;       // of the keys
};

}  // namespace rocksieve
