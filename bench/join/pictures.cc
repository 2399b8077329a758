// SPDX-License-Identifier: Apache-2.0
// The pictures of `./run bench join --pictures`.
#include <cmath>
#include <set>

#include "bench/join/figures.h"
#include "support/chart.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

constexpr double kBreakEvenFloor = 10;  // nanoseconds, from where the lines go up

// A line of a picture, from the rows of a table.
ChartSeries SeriesOf(const nlohmann::json& rows, const std::string& name, const char* x_field,
                     bool logarithmic, const char* y_field, bool dashed) {
  ChartSeries series;
  series.name = name;
  series.dashed = dashed;
  for (const nlohmann::json& row : rows) {
    const double x = row[x_field].get<double>();
    series.points.push_back({logarithmic ? std::log10(x) : x, row[y_field].get<double>()});
  }
  return series;
}

// Of the rows with one thread a side and this overlap.
ChartSeries LinkSeries(const Table& grid, double overlap_percent, const std::string& name,
                       const char* field, bool dashed) {
  nlohmann::json rows = nlohmann::json::array();
  for (const nlohmann::json& row : grid.rows) {
    if (row["threads"] == 1 && row["overlap_percent"] == overlap_percent) rows.push_back(row);
  }
  return SeriesOf(rows, name, "megabits_per_second", true, field, dashed);
}

// An upright line where shipping the keys begins to be as quick as a way, if it does in the
// picture.
void AddBreakEven(const ChartSeries& way, const ChartSeries& shipped, const std::string& name,
                  Chart* chart) {
  constexpr int kSteps = 1000;
  for (int step = 0; step <= kSteps; step++) {
    const double x = std::lerp(chart->x_min, chart->x_max, static_cast<double>(step) / kSteps);
    const double height = HeightAt(shipped, x);
    if (height > HeightAt(way, x)) continue;
    ChartSeries line;
    const double megabits = std::pow(10, x);
    line.name = name + ", " + Thousands(static_cast<uint64_t>(10 * std::round(megabits / 10)));
    line.points = {{x, kBreakEvenFloor}, {x, height}};
    line.dashed = true;
    chart->series.push_back(line);
    return;
  }
}

std::string OverlapPicture(const Table& overlaps) {
  const std::string keys = Thousands(overlaps.rows.at(0)["keys_per_side"].get<uint64_t>());
  Chart chart;
  chart.title = "Bits on the wire against overlap";
  chart.subtitle = keys + " x " + keys + " random keys of 16 bytes, exact result, rows apart";
  chart.x_label = "keys of one side that the other has too, percent";
  chart.y_label = "bits on the wire per key of one side";
  chart.x_max = 100;
  for (int percent = 0; percent <= 100; percent += 10) {
    chart.ticks.push_back({static_cast<double>(percent), std::to_string(percent), ""});
  }
  const auto add = [&](const char* name, const char* field, bool dashed) {
    chart.series.push_back(SeriesOf(overlaps.rows, name, "overlap_percent", false, field, dashed));
  };
  add("rocksieve, 2 round trips", "two_median_bits_per_key", false);
  add("rocksieve, 4 round trips", "four_median_bits_per_key", false);
  add("keys shipped, zstd", "shipped_bits_per_key", true);
  add("Bloom join, 10 bits", "bloom_join_bits_per_key", true);
  add("RIBLT alone", "rateless_bits_per_key", true);
  return SvgDrawing(chart);
}

std::string DifferencePicture(const Table& differences) {
  Chart chart;
  chart.title = "Bytes per difference between replicas";
  chart.subtitle = "replicas of " +
                   Thousands(differences.rows.at(0)["keys_per_side"].get<uint64_t>()) +
                   " random keys of 16 bytes, exact result, rows apart";
  chart.x_label = "keys that only one of them has";
  chart.y_label = "bytes on the wire per difference";
  for (const nlohmann::json& row : differences.rows) {
    const auto count = row["differences"].get<uint64_t>();
    chart.ticks.push_back({std::log10(static_cast<double>(count)), Thousands(count), ""});
  }
  chart.x_min = chart.ticks.front().x;
  chart.x_max = chart.ticks.back().x;
  chart.series = {SeriesOf(differences.rows, "rocksieve", "differences", true,
                           "median_bytes_per_difference", false),
                  SeriesOf(differences.rows, "RIBLT alone", "differences", true,
                           "rateless_bytes_per_difference", true)};
  return SvgDrawing(chart);
}

std::string LinkPicture(const Table& grid) {
  Chart chart;
  chart.title = "Time per key against the link";
  chart.subtitle =
      "one thread on each side; upright lines: from there on shipping keys is as quick";
  chart.x_label = "link, Mbit/s each way";
  chart.y_label = "nanoseconds per key of one side";
  std::set<double> rates, overlaps;
  for (const nlohmann::json& row : grid.rows) {
    rates.insert(row["megabits_per_second"].get<double>());
    overlaps.insert(row["overlap_percent"].get<double>());
  }
  for (const double rate : rates) {
    chart.ticks.push_back({std::log10(rate), Thousands(static_cast<uint64_t>(rate)), ""});
  }
  chart.x_min = chart.ticks.front().x;
  chart.x_max = chart.ticks.back().x;
  for (const double overlap : overlaps) {
    const std::string name = Significant(overlap, 3) + " % in common";
    chart.series.push_back(LinkSeries(grid, overlap, name, "planned_ns", false));
  }
  const ChartSeries shipped =
      LinkSeries(grid, *overlaps.begin(), "keys shipped", "keys_ns", /*dashed=*/true);
  chart.series.push_back(shipped);
  for (const double overlap : overlaps) {
    const std::string name = Significant(overlap, 3) + " %: ";
    const ChartSeries planned = LinkSeries(grid, overlap, "", "planned_ns", false);
    AddBreakEven(planned, shipped, name + "plan", &chart);
    const ChartSeries fewest = LinkSeries(grid, overlap, "", "fewest_bytes_ns", false);
    AddBreakEven(fewest, shipped, name + "without --link", &chart);
  }
  return SvgDrawing(chart);
}

}  // namespace

void Draw(const Table& table, const std::string& directory) {
  if (table.name == "overlaps") WriteFile(directory + "/join_overlap.svg", OverlapPicture(table));
  if (table.name == "differences") {
    WriteFile(directory + "/join_differences.svg", DifferencePicture(table));
  }
  if (table.name == "grid") WriteFile(directory + "/join_links.svg", LinkPicture(table));
}

}  // namespace rocksieve::bench
