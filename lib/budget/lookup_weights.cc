// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/lookup_weights.h"

#include <algorithm>
#include <utility>

#include "lib/budget/key_scale.h"

namespace rocksieve {
namespace {

// Of a file's entries, the share that is spread over its cells evenly.
constexpr double kEvenShare = 0.1;

// Cells first to last, the last one excluded.
struct CellRange {
  size_t first = 0, last = 0;
};

// The cells between the ends of the files' ranges, in order.
class Cells {
 public:
  explicit Cells(const std::vector<BudgetedFile>& files) : ranges_(files.size()) {
    struct End {
      std::string_view key;
      size_t file;
      bool is_largest;
    };
    std::vector<End> ends;
    std::vector<std::string_view> keys;
    ends.reserve(2 * files.size());
    keys.reserve(2 * files.size());
    for (size_t i = 0; i < files.size(); i++) {
      const auto [low, high] = std::minmax(files[i].smallest, files[i].largest);
      ends.push_back({low, i, false});
      ends.push_back({high, i, true});
      keys.insert(keys.end(), {low, high});
    }
    std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.key < b.key; });
    const KeyScale scale(keys);
    // A cell at each distinct end, of no width, and one between it and the next: the ranges include
    // their ends, so files that meet in a key overlap there, and files of one key have a place.
    double position = 0;
    for (size_t i = 0; i < ends.size(); i++) {
      if (i == 0 || ends[i].key != ends[i - 1].key) {
        const double here = scale.PositionOf(ends[i].key);
        if (i != 0) widths_.push_back(std::max(0.0, here - position));
        widths_.push_back(0);
        position = here;
      }
      CellRange& range = ranges_[ends[i].file];
      (ends[i].is_largest ? range.last : range.first) = widths_.size() - 1;
    }
    for (CellRange& range : ranges_) range.last++;
    width_before_.assign(1, 0);
    for (const double width : widths_) width_before_.push_back(width_before_.back() + width);
  }

  size_t count() const { return widths_.size(); }
  double width(size_t cell) const { return widths_[cell]; }
  double WidthOf(CellRange range) const {
    return width_before_[range.last] - width_before_[range.first];
  }
  // The cells that a file's entries lie in.
  CellRange RangeOf(size_t file) const { return ranges_[file]; }

 private:
  std::vector<CellRange> ranges_;
  std::vector<double> widths_, width_before_;
};

// Entries in all cells before each.
std::vector<double> EntriesBefore(const Cells& cells, const std::vector<BudgetedFile>& files) {
  // How the sums over the files that cover a cell change from one to the next.
  std::vector<double> per_cell(cells.count() + 1), per_width(cells.count() + 1);
  for (size_t i = 0; i < files.size(); i++) {
    const CellRange range = cells.RangeOf(i);
    const double width = cells.WidthOf(range);
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
  double even = 0, by_width = 0;
  for (size_t cell = 0; cell < cells.count(); cell++) {
    even += per_cell[cell];
    by_width += per_width[cell];
    before.push_back(before.back() + std::max(0.0, even + by_width * cells.width(cell)));
  }
  return before;
}

}  // namespace

std::vector<double> LookupWeights(const std::vector<BudgetedFile>& files) {
  const Cells cells(files);
  const std::vector<double> before = EntriesBefore(cells, files);
  const double total = before.back();
  std::vector<double> shares;
  shares.reserve(files.size());
  for (size_t i = 0; i < files.size(); i++) {
    const CellRange range = cells.RangeOf(i);
    const double inside = before[range.last] - before[range.first];
    const auto own = static_cast<double>(files[i].entries);
    shares.push_back(total > 0 ? std::min(std::max(inside, own) / total, 1.0) : 0);
  }
  return shares;
}

}  // namespace rocksieve
