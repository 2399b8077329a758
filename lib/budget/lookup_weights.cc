// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/lookup_weights.h"

#include <algorithm>

#include "lib/budget/key_cells.h"
#include "lib/budget/lookup_density.h"

namespace rocksieve {
namespace {

// Lookups in all cells before each, given the entries.
std::vector<double> LookupsBefore(const KeyCells& cells, const std::vector<double>& entries_before,
                                  const LookupDensity& density) {
  std::vector<double> before(1, 0);
  before.reserve(entries_before.size());
  double begin = 0, end = 0;
  for (size_t cell = 0; cell < cells.count(); cell++) {
    // Cells of no width, and those between them, in turn: each key is looked at once.
    const bool is_key = cell % 2 == 0;
    begin = end;
    if (cell == 0) begin = end = density.PlaceOf(cells.first_key(0));
    if (!is_key) end = density.PlaceOf(cells.last_key(cell));
    const double entries = entries_before[cell + 1] - entries_before[cell];
    before.push_back(before.back() + entries * density.Between(begin, end));
  }
  return before;
}

std::vector<double> WeightsOf(const KeyCells& cells, const std::vector<BudgetedFile>& files,
                              const std::vector<double>& entries_before,
                              const std::vector<double>& lookups_before) {
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

}  // namespace

std::vector<double> LookupWeights(const std::vector<BudgetedFile>& files,
                                  const LookupDensity* density) {
  if (density != nullptr) return LookupWeightsBothWays(files, *density).heard;
  const KeyCells cells(files);
  const std::vector<double> entries = cells.EntriesBefore(files);
  return WeightsOf(cells, files, entries, entries);
}

BothLookupWeights LookupWeightsBothWays(const std::vector<BudgetedFile>& files,
                                        const LookupDensity& density) {
  const KeyCells cells(files);
  const std::vector<double> entries = cells.EntriesBefore(files);
  return {WeightsOf(cells, files, entries, entries),
          WeightsOf(cells, files, entries, LookupsBefore(cells, entries, density))};
}

}  // namespace rocksieve
