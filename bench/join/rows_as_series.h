// A line of a picture, from the rows of a table.
#pragma once

#include <string>

#include "support/table.h"
#include "support/chart.h"

namespace rocksieve::bench {

template <typename XOfRow>
ChartSeries RowsAsSeries(const Table& table, const std::string& name, XOfRow x,
                                const char* y_field, bool dashed) {
  ChartSeries series;
  series.name = name;
  series.dashed = dashed;
  for (const nlohmann::json& row : table.rows) {
    series.points.push_back({x(row), row[y_field].get<double>()});
  }
  return series;
}

}  // namespace rocksieve::bench
