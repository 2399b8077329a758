#include <cmath>

#include <nlohmann/json.hpp>

#include "tools/whatif/report.h"

namespace rocksieve::tools {
namespace {

using Json = nlohmann::ordered_json;

double BitsPerEntryJson(double bytes, uint64_t entries) {
  return entries == 0 ? 0 : 8 * bytes / static_cast<double>(entries);
}

uint64_t Rounded(double bytes) { return static_cast<uint64_t>(std::llround(bytes)); }

Json LevelsJson(const Prediction& prediction) {
  Json levels = Json::array();
  for (const LevelPrediction& level : prediction.levels) {
    levels.push_back(
        {{"level", level.level},
         {"files", level.files},
         {"files_without_filter", level.files_without_filter},
         {"entries", level.entries},
         {"filter_bytes", Rounded(level.filter_bytes)},
         {"filter_bits_per_entry", BitsPerEntryJson(level.filter_bytes, level.entries)},
         {"false_positive_rate", level.rate()},
         {"files_asked_per_missing_lookup", level.meets},
         {"expected_useless_reads_per_missing_lookup", level.reads}});
  }
  return levels;
}

Json Filters(const Prediction& prediction, uint64_t entries) {
  return {{"filter_bytes", Rounded(prediction.filter_bytes)},
          {"filter_bits_per_entry", BitsPerEntryJson(prediction.filter_bytes, entries)},
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

std::string JsonReport(const WhatIfOptions& options, const std::vector<WhatIfResult>& results) {
  Json report = {{"database", options.database},
                 {"microseconds_per_block_read", options.read_us},
                 {"column_families", Json::array()}};
  for (const WhatIfResult& result : results) {
    report["column_families"].push_back(ColumnFamilyReport(result));
  }
  // Names of files and column families need not be UTF-8.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rocksieve::tools
