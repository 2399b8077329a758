#include "plugin/build_totals.h"

namespace rocksieve {

void BuildTotals::Add(const FiltersBuilt& built) {
  std::lock_guard<std::mutex> lock(mutex_);
  FiltersBuilt& row = rows_[{built.family, built.level}];
  row.family = built.family;
  row.level = built.level;
  row.filters += built.filters;
  row.keys += built.keys;
  row.bytes += built.bytes;
  row.build_seconds += built.build_seconds;
}

std::vector<FiltersBuilt> BuildTotals::rows() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<FiltersBuilt> rows;
  for (const auto& [place, row] : rows_) rows.push_back(row);
  return rows;
}

}  // namespace rocksieve
