#include <iterator>

#include "support/text.h"
#include "tools/whatif/report.h"

namespace rocksieve::tools {
namespace {

constexpr int kMostTicks = 8;

// "12.4 MB", in units of a million bytes and so on.
std::string ShortBytes(double bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(units); unit++) bytes /= 1000;
  return Fixed(bytes, bytes < 9.95 && unit > 0 ? 1 : 0) + " " + units[unit];
}

}  // namespace

Chart ReadsChart(const WhatIfOptions& options, const WhatIfResult& result) {
  const PlannedTree& tree = result.tree;
  const auto entries = static_cast<double>(tree.Entries());
  const auto bits = [&](double bytes) { return entries > 0 ? 8 * bytes / entries : 0; };
  Chart chart;
  chart.title = "Useless reads against filter memory";
  chart.subtitle = "column family " + tree.column_family + ": " + Thousands(tree.Entries()) +
                   " entries in " + Thousands(tree.files.size()) + " files on " +
                   Thousands(result.now.levels.size()) + " levels";
  chart.x_label = "filter memory: bits per entry, and in all";
  chart.y_label = "useless data-block reads per lookup of a missing key";
  chart.x_min = options.least_bits;
  chart.x_max = options.most_bits;
  const int step = (options.most_bits - options.least_bits + kMostTicks - 1) / kMostTicks;
  for (int at = options.least_bits; at <= options.most_bits; at += step) {
    chart.ticks.push_back(
        {static_cast<double>(at), std::to_string(at), ShortBytes(at * entries / 8)});
  }
  for (const Curve& curve : result.curves) {
    ChartSeries series;
    series.name = curve.name;
    series.dashed = curve.family.rocksdb() != nullptr;
    for (const CurvePoint& point : curve.points) {
      series.points.push_back({bits(point.filter_bytes), point.reads});
    }
    chart.series.push_back(series);
  }
  const auto mark = [&](const std::string& name, const Prediction& prediction) {
    chart.marks.push_back({name, {bits(prediction.filter_bytes), prediction.reads}});
  };
  if (tree.has_filters) mark("now", result.now);
  for (const PolicyResult& policy : result.policies) {
    mark(policy.spec.text(), policy.prediction);
  }
  return chart;
}

}  // namespace rocksieve::tools
