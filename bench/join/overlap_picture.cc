#include "bench/join/figures.h"
#include "bench/join/rows_as_series.h"
#include "support/chart.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

ChartSeries OverlapSeries(const Table& table, const std::string& name, const char* field,
                          bool dashed) {
  const auto overlap = [](const nlohmann::json& row) {
    return row["overlap_percent"].get<double>();
  };
  return RowsAsSeries(table, name, overlap, field, dashed);
}

}  // namespace

std::string OverlapPicture(const Table& overlaps) {
  const auto keys = overlaps.rows.at(0)["keys_per_side"].get<uint64_t>();
  Chart chart;
  chart.title = "Bits on the wire against overlap";
  chart.subtitle = Thousands(keys) + " x " + Thousands(keys) +
                   " random keys of 16 bytes, exact result, rows apart";
  chart.x_label = "keys of one side that the other has too, percent";
  chart.y_label = "bits on the wire per key of one side";
  chart.x_min = 0;
  chart.x_max = 100;
  for (int percent = 0; percent <= 100; percent += 10) {
    chart.ticks.push_back({static_cast<double>(percent), std::to_string(percent), ""});
  }
  chart.series = {
      OverlapSeries(overlaps, "rocksieve, 2 round trips", "two_median_bits_per_key", false),
      OverlapSeries(overlaps, "rocksieve, 4 round trips", "four_median_bits_per_key", false),
      OverlapSeries(overlaps, "keys shipped, zstd", "shipped_bits_per_key", true),
      OverlapSeries(overlaps, "Bloom join, 10 bits", "bloom_join_bits_per_key", true),
      OverlapSeries(overlaps, "RIBLT alone", "rateless_bits_per_key", true)};
  return SvgDrawing(chart);
}

}  // namespace rocksieve::bench
