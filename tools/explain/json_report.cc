#include "tools/explain/json_report.h"

#include <cmath>

#include <rocksdb/version.h>
#include <nlohmann/json.hpp>

namespace rocksieve::tools {
namespace {

using Json = nlohmann::ordered_json;

Json Rate(double rate) { return rate < 0 || std::isnan(rate) ? Json(nullptr) : Json(rate); }

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

void AddTotals(const Totals& totals, Json* json) {
  json->update({{"files", totals.files},
                {"files_without_filter", totals.files_without_filter},
                {"keys", totals.entries},
                {"deletions", totals.deletions},
                {"file_bytes", totals.file_bytes},
                {"filter_bytes", totals.filter_bytes},
                {"bits_per_key", totals.BitsPerEntry()},
                {"predicted_false_positive_rate", Rate(totals.predicted_rate)},
                {"measured_false_positive_rate", Rate(totals.measured_rate)},
                {"filter_lookups", totals.filter_lookups},
                {"files_per_missing_lookup", totals.files_met},
                {"passes_per_missing_lookup", totals.measured_passes}});
}

Json Group(const FilterGroup& group) {
  Json json = {{"family", group.family},
               {"files", group.files},
               {"partitioned_files", group.partitioned_files},
               {"keys", group.entries},
               {"bytes", group.bytes},
               {"setting", nullptr},
               {"setting_min", nullptr},
               {"setting_max", nullptr}};
  if (!group.smallest.unit.empty()) {
    json["setting"] = group.smallest.unit;
    json["setting_min"] = group.smallest.value;
    json["setting_max"] = group.largest.value;
  }
  return json;
}

Json Level(const LevelExplanation& level) {
  Json json = {{"level", level.level}};
  AddTotals(level.totals, &json);
  json["filters"] = Json::array();
  for (const FilterGroup& group : level.filters) json["filters"].push_back(Group(group));
  return json;
}

Json File(const TreeFile& file, const FileProbes& probes) {
  return {{"name", file.name},
          {"level", file.level},
          {"keys", file.properties.entries},
          {"deletions", file.properties.deletions},
          {"file_bytes", file.bytes},
          {"filter_bytes", file.filter.bytes},
          {"family", file.filter.family},
          {"parameters", file.filter.parameters},
          {"partitions", file.filter.partitions},
          {"predicted_false_positive_rate",
           file.filter.exists() ? Rate(file.filter.predicted_rate) : Json(nullptr)},
          {"lookups", probes.lookups},
          {"passes", probes.passes},
          {"error", TextOrNull(file.error)}};
}

Json ColumnFamilyJson(const FamilyExplanation& family, bool own_probes) {
  const auto reads = [&](double number) {
    return family.reads_known ? Json(number) : Json(nullptr);
  };
  const ColumnFamily& described = family.tree.family;
  Json json = {
      {"name", described.name},
      {"expected_useless_reads_per_missing_lookup", reads(family.expected_reads)},
      {"expected_useless_reads_95",
       {reads(family.expected_reads_low_95), reads(family.expected_reads_high_95)}},
      {"expected_useless_reads_is_upper_bound", family.reads_are_upper_bound},
      {"predicted_useless_reads_per_missing_lookup", reads(family.predicted_reads)},
      {"useless_reads_per_missing_lookup_without_filters", reads(family.reads_without_filters)},
      {"share_of_files_without_filter", family.totals.ShareWithoutFilter()}};
  AddTotals(family.totals, &json);
  json["data_blocks_read_per_pass"] = family.reads.per_pass;
  json["probes"] = {{"keys", family.probes.keys},
                    {"source", own_probes ? "file" : "made"},
                    {"sample_keys", family.reads.keys_tried},
                    {"sample_keys_found", family.reads.keys_found}};
  json["filter_policy"] = TextOrNull(described.filter_policy);
  json["whole_key_filtering"] = described.whole_key_filtering;
  json["prefix_extractor"] = TextOrNull(described.prefix_extractor_name);
  json["optimize_filters_for_hits"] = described.optimize_filters_for_hits;
  json["comparator"] = described.comparator_name;
  json["levels"] = Json::array();
  json["table_files"] = Json::array();
  for (size_t i = 0; i < family.levels.size(); i++) {
    json["levels"].push_back(Level(family.levels[i]));
    const std::vector<TreeFile>& files = family.tree.levels[i].files;
    for (size_t j = 0; j < files.size(); j++) {
      json["table_files"].push_back(File(files[j], family.probes.levels[i][j]));
    }
  }
  json["notes"] = family.notes;
  json["problems"] = family.problems;
  return json;
}

}  // namespace

std::string JsonReport(const Explanation& explanation) {
  Json families = Json::array();
  for (const FamilyExplanation& family : explanation.families) {
    families.push_back(ColumnFamilyJson(family, explanation.own_probes));
  }
  const Json json = {{"rocksieve_version", ROCKSIEVE_VERSION},
                     {"rocksdb_version", rocksdb::GetRocksVersionAsString()},
                     {"database", explanation.directory},
                     {"options_file", TextOrNull(explanation.options_file)},
                     {"write_ahead_log_bytes", explanation.write_ahead_log_bytes},
                     {"ok", !explanation.HasProblems()},
                     {"column_families", families}};
  // Names may be no UTF-8, which JSON cannot hold.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rocksieve::tools
