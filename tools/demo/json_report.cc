#include "tools/demo/json_report.h"

#include <rocksdb/version.h>
#include <nlohmann/json.hpp>

#include "tools/demo/savings.h"
#include "tools/demo/variants.h"

namespace rocksieve::tools {
namespace {

using Json = nlohmann::ordered_json;

Json Rate(const Share& share) {
  return {{"rate", share.value}, {"low_95", share.low}, {"high_95", share.high}};
}

Json Time(const LookupTime& time) {
  return {{"median", time.median_us},
          {"fastest_round", time.fastest_us},
          {"slowest_round", time.slowest_us}};
}

Json Filter(const VariantResult& variant, const VariantResult& bloom) {
  const bool any_missing = variant.missing.keys > 0;
  Json json = {{"id", variant.directory},
               {"name", variant.name},
               {"filter_bytes", variant.filter_bytes},
               {"filter_bytes_per_key", variant.FilterBytesPerKey()},
               {"data_block_reads", variant.missing.data_block_reads},
               {"data_block_reads_per_1000_missing_keys", nullptr},
               {"filter_probes", variant.missing.filter_probes},
               {"false_positives", variant.missing.false_positives},
               {"expected_false_positive_rate", nullptr},
               {"observed_false_positive_rate", nullptr},
               {"missing_lookup_us", nullptr},
               {"present_lookup_us", Time(variant.times.present)},
               {"present_keys_checked", variant.present.keys},
               {"present_keys_lost", variant.present.lost},
               {"present_keys_with_wrong_value", variant.present.wrong_values},
               {"missing_keys_found", variant.missing.found},
               {"reads_saved_per_100_of_rocksdb_bloom", nullptr},
               {"filter_memory_over_rocksdb_bloom", nullptr}};
  if (any_missing) {
    json["data_block_reads_per_1000_missing_keys"] = variant.ReadsPer1000Missing();
    json["missing_lookup_us"] = Time(variant.times.missing);
  }
  if (variant.HasRates()) {
    json["expected_false_positive_rate"] = Rate(variant.expected_rate);
    json["observed_false_positive_rate"] = Rate(variant.ObservedRate());
  }
  if (bloom.missing.data_block_reads > 0) {
    json["reads_saved_per_100_of_rocksdb_bloom"] = SavedReadsPer100(bloom, variant);
  }
  if (bloom.filter_bytes > 0) {
    json["filter_memory_over_rocksdb_bloom"] = 1 + ExtraMemory(bloom, variant);
  }
  return json;
}

}  // namespace

std::string JsonReport(const DemoResult& result) {
  const std::vector<std::string> failed = result.FailedChecks();
  bool same_tree = true;
  Json filters = Json::array(), levels = Json::array();
  for (const VariantResult& variant : result.variants) {
    same_tree = same_tree && variant.tree_difference.empty();
    filters.push_back(Filter(variant, result.variants[kBuiltinBloom]));
  }
  for (const LevelTotals& level : TotalsByLevel(result.tree)) {
    levels.push_back({{"level", level.level},
                      {"files", level.files},
                      {"keys", level.keys},
                      {"data_bytes", level.data_bytes}});
  }
  Json json = {{"rocksieve_version", ROCKSIEVE_VERSION},
               {"rocksdb_version", rocksdb::GetRocksVersionAsString()},
               {"ok", failed.empty()},
               {"failed_checks", failed},
               {"keys",
                {{"source", result.keys_source},
                 {"lines", result.lines},
                 {"distinct", result.present_keys + result.missing_keys},
                 {"present", result.present_keys},
                 {"missing", result.missing_keys}}},
               {"tree", levels},
               {"same_tree", same_tree},
               {"filters", filters},
               {"summary", SavingsSentence(result)},
               {"kept_directory", nullptr},
               {"run_seconds", result.seconds}};
  if (!result.kept_directory.empty()) json["kept_directory"] = result.kept_directory;
  // A file may have a name that is no UTF-8, which JSON cannot hold.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rocksieve::tools
