// SPDX-License-Identifier: Apache-2.0
#include "tools/demo/demo.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/version.h>

#include "plugin/database/tree.h"
#include "support/parallel.h"
#include "support/return_if_error.h"
#include "support/work_dir.h"

namespace rocksieve::tools {
namespace {

using Databases = std::vector<std::unique_ptr<rocksdb::DB>>;
using rocksdb::Status;

// A share between 0 and 1, and the interval around it.
struct Share {
  double value = 0;
  double low = 0;
  double high = 1;
};

constexpr double kZ = 1.959964;  // 97.5 % of a normal distribution lie below

// The share that was observed, with the Wilson score interval of the true one (Wilson, "Probable
// Inference", 1927): unlike the usual +-1.96 standard errors it is sound for few or no hits.
// hits <= trials. No trials: anything between 0 and 1.
Share ObservedShare(uint64_t hits, uint64_t trials) {
  if (trials == 0) return {};
  const double n = static_cast<double>(trials);
  const double share = static_cast<double>(hits) / n;
  const double scale = 1 / (1 + kZ * kZ / n);
  const double middle = scale * (share + kZ * kZ / (2 * n));
  const double reach = scale * kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  // Exactly 0 and 1 at the ends, whatever the rounding.
  return {share, hits == 0 ? 0 : middle - reach, hits == trials ? 1 : middle + reach};
}

// The share that is expected, with the interval that holds the observed one in about 95 % of
// experiments of so many trials, each of which has a probability of its own, with this variance
// around `probability`; it ends with a whole number of hits. No trials: between 0 and 1.
Share ExpectedShare(double probability, double variance, uint64_t trials) {
  if (trials == 0) return {probability, 0, 1};
  const auto n = static_cast<double>(trials);
  const double scatter = probability * (1 - probability) / n + variance;
  const double reach = kZ * std::sqrt(std::max(scatter, 0.0));
  const double most_hits = std::ceil((probability + reach) * n);
  return {probability, std::max(probability - reach, 0.0), std::min(most_hits / n, 1.0)};
}

// What one filter did.
struct Result {
  Tree tree;
  uint64_t keys = 0, filter_bytes = 0;  // in the tree
  Json present, missing, times;         // as CheckPresent() and others count
  Share expected_rate;  // per filter probe, the interval for so many probes; if there were any
  std::string tree_difference;  // from the tree without filters; empty if there is none

  uint64_t counted(const char* field) const { return missing[field]; }
};

// Of two trees with the same files in the same levels, each with the same key range, number of
// entries and bytes, whatever the filters, nothing; else the first difference.
std::string TreeDifference(const Tree& a, const Tree& b) {
  const auto place = [](const TreeFile& file) {
    return std::tie(file.level, file.smallest, file.largest);
  };
  const auto contents = [](const TableProperties& table) {
    return std::tie(table.entries, table.raw_key_bytes, table.raw_value_bytes, table.data_blocks,
                    table.data_bytes);
  };
  const std::vector<const TreeFile*> files = a.files(), others = b.files();
  if (files.size() != others.size()) {
    return std::to_string(files.size()) + " files against " + std::to_string(others.size());
  }
  for (size_t i = 0; i < files.size(); i++) {
    const std::string where =
        "file " + std::to_string(i + 1) + " (level " + std::to_string(files[i]->level) + ")";
    if (place(*files[i]) != place(*others[i])) return where + " has another level or key range";
    if (contents(files[i]->properties) != contents(others[i]->properties)) {
      return where + " has other entries";
    }
  }
  return "";
}

Status BuildAndOpen(const std::vector<Variant>& variants, const WorkDir& directory,
                    const Keys& keys, Progress* progress, Databases* databases) {
  databases->resize(variants.size());
  progress->Begin("building one tree with each filter", variants.size() * keys.present.size());
  return RunAll(variants.size(), [&](size_t i) {
    const auto path = directory.path() / variants[i].directory;
    RETURN_IF_ERROR(BuildTree(path, variants[i], keys.present, progress));
    return OpenTree(path, variants[i], /*for_ranges=*/false, &(*databases)[i]);
  });
}

Status ReadTrees(const std::vector<Variant>& variants, const WorkDir& directory, Progress* progress,
                 std::vector<Result>* results) {
  for (size_t i = 0; i < variants.size(); i++) {
    DatabaseTrees opened;
    RETURN_IF_ERROR(OpenAndReadTrees((directory.path() / variants[i].directory).string(), {},
                                     progress, &opened));
    Result& result = (*results)[i];
    result.tree = std::move(opened.trees[0]);
    const std::vector<std::string> problems = result.tree.Problems();
    if (!problems.empty()) return Status::Corruption(problems[0]);
    for (const TreeFile* file : result.tree.files()) {
      result.keys += file->properties.entries;
      result.filter_bytes += file->properties.filter_bytes;
    }
    result.tree_difference = TreeDifference((*results)[0].tree, result.tree);
  }
  return Status::OK();
}

// All but the times.
Status Examine(rocksdb::DB* db, const Keys& keys, Progress* progress, Result* result) {
  Status status = CheckPresent(db, keys.present, progress, &result->present);
  if (status.ok()) status = CountMissingCosts(db, keys.missing, progress, &result->missing);
  const FileRate rate = ExpectedRate(result->tree, keys.missing);
  result->expected_rate = ExpectedShare(rate.mean, rate.variance, result->counted("filter_probes"));
  return status;
}

Status Measure(const std::vector<Variant>& variants, const Databases& databases, const Keys& keys,
               Progress* progress, std::vector<Result>* results) {
  progress->Begin("looking up all keys with each filter", variants.size() * keys.distinct());
  RETURN_IF_ERROR(RunAll(variants.size(), [&](size_t i) {
    return Examine(databases[i].get(), keys, progress, &(*results)[i]);
  }));
  std::vector<Json> times(variants.size());
  Status status = TimeLookups(databases, keys, progress, &times);
  for (size_t i = 0; i < times.size(); i++) (*results)[i].times = std::move(times[i]);
  return status;
}

// What went wrong with a filter.
void AddFailures(const Variant& variant, const Result& result, uint64_t present_keys,
                 Json* failed) {
  const auto add = [&](const std::string& what) {
    failed->push_back("With filter " + variant.name + ", " + what + ".");
  };
  if (!result.tree_difference.empty()) {
    add("the tree is another one than without: " + result.tree_difference);
  }
  if (result.keys != present_keys) {
    add("the tree holds " + std::to_string(result.keys) + " entries, not " +
        std::to_string(present_keys));
  }
  if (result.present["lost"] > 0 || result.present["wrong"] > 0) {
    add(Filled("{lost} keys are lost and {wrong} have a wrong value; the first of them is "
               "0x{first_bad}",
               result.present));
  }
  if (result.counted("missing_keys_found") > 0) {
    add(result.missing["missing_keys_found"].dump() + " keys were found that were never stored");
  }
}

Json RateJson(const Share& share) {
  return {{"rate", share.value}, {"low_95", share.low}, {"high_95", share.high}};
}

double Ratio(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

Json FilterJson(const Variant& variant, const Result& result, const Result& bloom,
                const Keys& keys) {
  const uint64_t reads = result.counted("data_block_reads"),
                 probes = result.counted("filter_probes"),
                 bloom_reads = bloom.counted("data_block_reads");
  // Nothing was asked of a filter if there is none, or if no key is missing.
  const auto rate = [&](const Share& share) { return probes > 0 ? RateJson(share) : Json(); };
  const auto known = [](bool is_known, double number) { return is_known ? Json(number) : Json(); };
  return {{"id", variant.directory},
          {"name", variant.name},
          {"filter_bytes", result.filter_bytes},
          {"filter_bytes_per_key",
           result.keys == 0 ? 0 : Ratio(result.filter_bytes, result.keys)},
          {"data_block_reads", reads},
          {"data_block_reads_per_1000_missing_keys",
           known(!keys.missing.empty(), 1000 * Ratio(reads, keys.missing.size()))},
          {"filter_probes", probes},
          {"false_positives", result.missing["false_positives"]},
          {"expected_false_positive_rate", rate(result.expected_rate)},
          {"observed_false_positive_rate",
           rate(ObservedShare(result.counted("false_positives"), probes))},
          {"missing_lookup_us", result.times["missing_lookup_us"]},
          {"present_lookup_us", result.times["present_lookup_us"]},
          {"present_keys_checked", keys.present.size()},
          {"present_keys_lost", result.present["lost"]},
          {"present_keys_with_wrong_value", result.present["wrong"]},
          {"missing_keys_found", result.missing["missing_keys_found"]},
          {"reads_saved_per_100_of_rocksdb_bloom",
           known(bloom_reads > 0, 100 * (1 - Ratio(reads, bloom_reads)))},
          {"filter_memory_over_rocksdb_bloom",
           known(bloom.filter_bytes > 0, Ratio(result.filter_bytes, result.keys) /
                                             Ratio(bloom.filter_bytes, bloom.keys))}};
}

bool Distinguishable(double reads, double other_reads) {
  return std::abs(reads - other_reads) > 1.96 * std::sqrt(reads + other_reads);
}

std::string ReadsInWords(const Json& bloom, const Json& filter) {
  if (!Distinguishable(bloom["data_block_reads"], filter["data_block_reads"])) {
    return " saves none or too few to tell";
  }
  const double saved = filter["reads_saved_per_100_of_rocksdb_bloom"];
  const std::string count = std::to_string(std::lround(std::abs(saved)));
  return saved > 0 ? " saves " + count : " saves none but costs " + count + " more";
}

std::string MemoryInWords(const Json& filter) {
  const double extra = filter["filter_memory_over_rocksdb_bloom"].get<double>() - 1;
  const long percent = std::lround(100 * std::abs(extra));
  if (percent == 0) return " with the same memory";
  return " with " + std::to_string(percent) + " % " + (extra > 0 ? "more" : "less") + " memory";
}

// What the filters come to, in one sentence: the data-block reads and the memory of ours against
// those of RocksDB's Bloom filter, whichever way it turns out. A difference that chance explains
// (less than 1.96 standard deviations of the two counts) is not claimed.
std::string SavingsSentence(const Json& filters) {
  const Json& bloom = filters[kBuiltinBloom];
  if (bloom["data_block_reads_per_1000_missing_keys"].is_null()) {
    return "No key is missing, so there is nothing to save.";
  }
  const bool any_reads = bloom["data_block_reads"] > 0;
  std::string sentence =
      any_reads
          ? "Of 100 disk reads that lookups of missing keys cost with RocksDB's Bloom filter, "
          : "Lookups of missing keys cost no disk reads with RocksDB's Bloom filter, so there is "
            "nothing to save; per 1,000 lookups ";
  for (size_t i = kFirstOfOurs; i < filters.size(); i++) {
    const Json& ours = filters[i];
    sentence += Filled(i > kFirstOfOurs ? ", and {name}" : "{name}", ours);
    sentence += any_reads ? ReadsInWords(bloom, ours)
                          : Filled(" costs {data_block_reads_per_1000_missing_keys:.1}", ours);
    sentence += MemoryInWords(ours);
  }
  return sentence + ".";
}

Json LevelsJson(const Tree& tree) {
  Json levels = Json::array();
  for (const TreeLevel& level : tree.levels) {
    uint64_t keys = 0, data_bytes = 0;
    for (const TreeFile& file : level.files) {
      keys += file.properties.entries;
      data_bytes += file.properties.data_bytes;
    }
    levels.push_back({{"level", level.level},
                      {"files", level.files.size()},
                      {"keys", keys},
                      {"data_bytes", data_bytes}});
  }
  return levels;
}

// What went wrong with ranges.
void AddRangeFailures(const Json& ranges, Json* failed) {
  for (const Json& filter : ranges["filters"]) {
    if (filter["ranges_lost"] == 0 && filter["empty_ranges_with_keys"] == 0) continue;
    failed->push_back(
        Filled("With filter {name}, {ranges_lost} ranges with a key are empty, and "
               "{empty_ranges_with_keys} without one are not.",
               filter));
  }
}

Json ResultJson(const std::vector<Variant>& variants, const std::vector<Result>& results,
                const Json& ranges, const std::string& keys_source, const Keys& keys) {
  bool same_tree = true;
  Json filters = Json::array(), failed = Json::array();
  for (size_t i = 0; i < variants.size(); i++) {
    same_tree = same_tree && results[i].tree_difference.empty();
    AddFailures(variants[i], results[i], keys.present.size(), &failed);
    filters.push_back(FilterJson(variants[i], results[i], results[kBuiltinBloom], keys));
  }
  AddRangeFailures(ranges, &failed);
  return {{"rocksieve_version", ROCKSIEVE_VERSION},
          {"rocksdb_version", rocksdb::GetRocksVersionAsString()},
          {"ok", failed.empty()},
          {"failed_checks", failed},
          {"keys",
           {{"source", keys_source},
            {"lines", keys.lines},
            {"distinct", keys.distinct()},
            {"present", keys.present.size()},
            {"missing", keys.missing.size()}}},
          {"tree", LevelsJson(results[0].tree)},
          {"same_tree", same_tree},
          {"filters", filters},
          {"summary", SavingsSentence(filters)},
          {"ranges", ranges}};
}

}  // namespace

Status RunDemo(const DemoOptions& options, Progress* progress, Json* result) {
  const auto start = std::chrono::steady_clock::now();
  progress->Begin("reading keys");
  Keys keys;
  RETURN_IF_ERROR(LoadKeys(options.keys, &keys));
  std::vector<Variant> variants;
  RETURN_IF_ERROR(MakeVariants(&variants));
  std::unique_ptr<WorkDir> directory;
  RETURN_IF_ERROR(WorkDir::Create(options.database_directory, "rocksieve-demo", &directory));

  std::vector<Result> results(variants.size());
  Databases databases;
  RETURN_IF_ERROR(BuildAndOpen(variants, *directory, keys, progress, &databases));
  RETURN_IF_ERROR(ReadTrees(variants, *directory, progress, &results));
  RETURN_IF_ERROR(Measure(variants, databases, keys, progress, &results));
  databases.clear();  // their memory is free for what follows
  Json ranges;
  RETURN_IF_ERROR(MeasureRanges(directory->path(), keys.distinct(), progress, &ranges));

  const bool keep = !options.database_directory.empty();
  if (keep) directory->Keep();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  *result = ResultJson(variants, results, ranges, options.keys, keys);
  result->update({{"kept_directory", keep ? Json(directory->path().string()) : Json(nullptr)},
                  {"run_seconds", seconds.count()}});
  return Status::OK();
}

}  // namespace rocksieve::tools
