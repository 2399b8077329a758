// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/lookup_weights.h"

#include <algorithm>

#include "lib/budget/key_cells.h"
#include "lib/budget/lookup_density.h"

namespace rocksieve {
namespace {

// Lookups in all cells before each, given the entries; these themselves without a density.
std::vector<double> LookupsBefore(const KeyCells& cells, const std::vector<double>& entries_before,
                                  const LookupDensity* density) {
  if (density == nullptr) return entries_before;
  std::vector<double> before(1, 0);
  before.reserve(entries_before.size());
  for (size_t cell = 0; cell < cells.count(); cell++) {
    const double entries = entries_before[cell + 1] - entries_before[cell];
    before.push_back(before.back() +
                     entries * density->Between(cells.first_key(cell), cells.last_key(cell)));
  }
  return before;
}

}  // namespace

std::vector<double> LookupWeights(const std::vector<BudgetedFile>& files,
                                  const LookupDensity* density) {
  const KeyCells cells(files);
  const std::vector<double> entries_before = cells.EntriesBefore(files);
  const std::vector<double> lookups_before = LookupsBefore(cells, entries_before, density);
  const double total = lookups_before.back();
  std::vector<double> shares;
  shares.reserve(files.size());
  for (size_t i = 0; i < files.size(); i++) {
    const CellRange range = cells.RangeOf(i);
    const double entries = entries_before[range.last] - entries_before[range.first];
    const double lookups = lookups_before[range.last] - lookups_before[range.first];
    // Rounding apart, no file has more entries than there are in its range.
    const auto own = static_cast<double>(files[i].entries);
    const double inside = entries > 0 ? std::max(1.0, own / entries) * lookups : own;
    shares.push_back(total > 0 ? std::min(inside / total, 1.0) : 0);
  }
  return shares;
}

}  // namespace rocksieve
