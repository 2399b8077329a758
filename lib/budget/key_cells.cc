// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/key_cells.h"

#include <algorithm>
#include <cstdint>

namespace rocksieve {
namespace {

// Of a file's entries, the share that is spread over its cells evenly.
constexpr double kEvenShare = 0.1;

std::vector<std::string_view> EndsOf(const std::vector<BudgetedFile>& files) {
  std::vector<std::string_view> keys;
  keys.reserve(2 * files.size());
  for (const BudgetedFile& file : files) keys.insert(keys.end(), {file.smallest, file.largest});
  return keys;
}

}  // namespace

KeyCells::KeyCells(const std::vector<BudgetedFile>& files)
    : scale_(EndsOf(files)), ranges_(files.size()) {
  struct End {
    std::string_view key;
    size_t file;
    bool is_largest;
  };
  std::vector<End> ends;
  ends.reserve(2 * files.size());
  for (size_t i = 0; i < files.size(); i++) {
    const auto [low, high] = std::minmax(files[i].smallest, files[i].largest);
    ends.push_back({low, i, false});
    ends.push_back({high, i, true});
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.key < b.key; });
  for (const End& end : ends) {
    if (keys_.empty() || end.key != keys_.back()) {
      const double position = scale_.PositionOf(end.key);
      positions_.push_back(positions_.empty() ? position : std::max(position, positions_.back()));
      keys_.push_back(end.key);
    }
    const size_t cell = 2 * (keys_.size() - 1);
    CellRange& range = ranges_[end.file];
    (end.is_largest ? range.last : range.first) = end.is_largest ? cell + 1 : cell;
  }
}

std::vector<double> KeyCells::EntriesBefore(const std::vector<BudgetedFile>& files) const {
  // How the sums over the files that cover a cell change from one to the next.
  std::vector<double> per_cell(count() + 1), per_width(count() + 1);
  for (size_t i = 0; i < files.size(); i++) {
    const CellRange range = RangeOf(i);
    const double width = WidthOf(range);
    const auto entries = static_cast<double>(files[i].entries);
    const double even =
        entries * (width > 0 ? kEvenShare : 1) / static_cast<double>(range.last - range.first);
    per_cell[range.first] += even;
    per_cell[range.last] -= even;
    if (width <= 0) continue;
    const double by_width = entries * (1 - kEvenShare) / width;
    per_width[range.first] += by_width;
    per_width[range.last] -= by_width;
  }
  std::vector<double> before(1, 0);
  before.reserve(count() + 1);
  double even = 0, by_width = 0;
  for (size_t cell = 0; cell < count(); cell++) {
    even += per_cell[cell];
    by_width += per_width[cell];
    before.push_back(before.back() + std::max(0.0, even + by_width * width(cell)));
  }
  return before;
}

}  // namespace rocksieve
