#include <cmath>

#include "bench/join/figures.h"
#include "bench/join/rows_as_series.h"
#include "support/chart.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

ChartSeries DifferencesSeries(const Table& table, const std::string& name, const char* field,
                              bool dashed) {
  const auto power_of_ten = [](const nlohmann::json& row) {
    return std::log10(row["differences"].get<double>());
  };
  return RowsAsSeries(table, name, power_of_ten, field, dashed);
}

}  // namespace

std::string DifferencePicture(const Table& differences) {
  const auto keys = differences.rows.at(0)["keys_per_side"].get<uint64_t>();
  Chart chart;
  chart.title = "Bytes per difference between replicas";
  chart.subtitle =
      "replicas of " + Thousands(keys) + " random keys of 16 bytes, exact result, rows apart";
  chart.x_label = "keys that only one of them has";
  chart.y_label = "bytes on the wire per difference";
  for (const nlohmann::json& row : differences.rows) {
    const auto count = row["differences"].get<uint64_t>();
    chart.ticks.push_back({std::log10(static_cast<double>(count)), Thousands(count), ""});
  }
  chart.x_min = chart.ticks.front().x;
  chart.x_max = chart.ticks.back().x;
  chart.series = {
      DifferencesSeries(differences, "rocksieve", "median_bytes_per_difference", false),
      DifferencesSeries(differences, "RIBLT alone", "rateless_bytes_per_difference", true)};
  return SvgDrawing(chart);
}

}  // namespace rocksieve::bench
