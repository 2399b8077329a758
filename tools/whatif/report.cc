#include <cmath>
#include <iterator>

#include "support/text.h"
#include "tools/whatif/whatif.h"

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

double BitsPerEntry(double bytes, uint64_t entries) {
  return entries == 0 ? 0 : 8 * bytes / static_cast<double>(entries);
}

uint64_t Rounded(double bytes) { return static_cast<uint64_t>(std::llround(bytes)); }

Json LevelsJson(const Prediction& prediction) {
  Json levels = Json::array();
  for (const LevelPrediction& level : prediction.levels) {
    levels.push_back({{"level", level.level},
                      {"files", level.files},
                      {"files_without_filter", level.files_without_filter},
                      {"entries", level.entries},
                      {"filter_bytes", Rounded(level.filter_bytes)},
                      {"filter_bits_per_entry", BitsPerEntry(level.filter_bytes, level.entries)},
                      {"false_positive_rate", level.rate()},
                      {"files_asked_per_missing_lookup", level.meets},
                      {"expected_useless_reads_per_missing_lookup", level.reads}});
  }
  return levels;
}

Json Filters(const Prediction& prediction, uint64_t entries) {
  return {{"filter_bytes", Rounded(prediction.filter_bytes)},
          {"filter_bits_per_entry", BitsPerEntry(prediction.filter_bytes, entries)},
          {"expected_useless_reads_per_missing_lookup", prediction.reads}};
}

Json PoliciesJson(const WhatIfResult& result) {
  Json policies = Json::array();
  for (const PolicyResult& policy : result.policies) {
    Json json = {{"spec", policy.spec.text()}};
    json.update(Filters(policy.prediction, result.tree.Entries()));
    json["build_seconds"] = policy.build_seconds;
    json["probe_nanoseconds_per_missing_lookup"] = policy.probe_ns;
    json["levels"] = LevelsJson(policy.prediction);
    policies.push_back(json);
  }
  return policies;
}

Json Budgets(const WhatIfResult& result) {
  Json budgets = Json::array();
  for (const BudgetRow& row : result.budgets) {
    Json reads;
    for (size_t i = 0; i < result.curves.size(); i++) {
      reads[result.curves[i].name] = row.reads[i] < 0 ? Json() : Json(row.reads[i]);
    }
    budgets.push_back({{"filter_bits_per_entry", row.bits_per_entry},
                       {"filter_bytes", Rounded(row.filter_bytes)},
                       {"expected_useless_reads_per_missing_lookup", reads}});
  }
  return budgets;
}

Json Recommended(const Recommendation& recommendation) {
  return {{"spec", recommendation.spec.empty() ? Json() : Json(recommendation.spec)},
          {"filter_bytes", Rounded(recommendation.filter_bytes)},
          {"expected_useless_reads_per_missing_lookup", recommendation.reads},
          {"microseconds_per_missing_lookup", recommendation.us_per_lookup},
          {"reason", recommendation.reason}};
}

Json ColumnFamilyReport(const WhatIfResult& result) {
  const uint64_t entries = result.tree.Entries();
  Json now = Filters(result.now, entries);
  now["levels"] = LevelsJson(result.now);
  return {{"name", result.tree.column_family},
          {"files", result.tree.files.size()},
          {"entries", entries},
          {"now", now},
          {"policies", PoliciesJson(result)},
          {"budgets", Budgets(result)},
          {"recommendation", Recommended(result.recommendation)},
          {"warnings", result.warnings}};
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

Json WhatIfDocument(const WhatIfOptions& options, const std::vector<WhatIfResult>& results) {
  Json report = {{"database", options.database},
                 {"microseconds_per_block_read", options.read_us},
                 {"column_families", Json::array()}};
  for (const WhatIfResult& result : results) {
    report["column_families"].push_back(ColumnFamilyReport(result));
  }
  return report;
}

}  // namespace rocksieve::tools
