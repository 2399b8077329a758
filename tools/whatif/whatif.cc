// SPDX-License-Identifier: Apache-2.0
#include "tools/whatif/whatif.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plugin/database/tree.h"
#include "plugin/probe/probe_tree.h"
#include "support/parallel.h"
#include "support/return_if_error.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// Always compared, whatever is asked for.
constexpr const char* kCurveSpecs[] = {"bloomfilter:10:false", "ribbonfilter:10:0",
                                       "rocksieve.bloom:10", "rocksieve.ribbon:10",
                                       "rocksieve.auto:10"};

// The memory that a recommendation is for, if the filters that are there are none, or hardly any.
constexpr double kUsualBits = 10, kFewBits = 4;

Status ParseAll(const std::vector<std::string>& texts, std::vector<PolicySpec>* specs) {
  for (const std::string& text : texts) {
    PolicySpec spec;
    RETURN_IF_ERROR(PolicySpec::Parse(text, &spec));
    if (!spec.is_none() && spec.automatic() == nullptr && spec.family() == Family::kNone) {
      return Status::InvalidArgument("whatif knows no model of the filters of \"" + text +
                                     "\": compare bloomfilter:10:false, ribbonfilter:10, none, or "
                                     "specs of rocksieve");
    }
    specs->push_back(spec);
  }
  return Status::OK();
}

// The curves' families: the usual ones, and those of the specs.
std::vector<PolicySpec> Families(const std::vector<PolicySpec>& specs) {
  std::vector<PolicySpec> families;
  for (const char* text : kCurveSpecs) {
    PolicySpec family;
    if (PolicySpec::Parse(text, &family).ok()) families.push_back(family);
  }
  for (const PolicySpec& spec : specs) {
    const auto same = [&](const PolicySpec& f) { return f.FamilyName() == spec.FamilyName(); };
    if (!spec.is_none() && std::none_of(families.begin(), families.end(), same)) {
      families.push_back(spec);
    }
  }
  return families;
}

double MeanKeyBytes(const PlannedTree& tree) {
  double bytes = 0;
  for (const PlannedFile& file : tree.files) {
    bytes += file.key_bytes * static_cast<double>(file.entries());
  }
  return bytes / std::max(1.0, static_cast<double>(tree.Entries()));
}

double BitsPerEntry(double bytes, uint64_t entries) {
  return entries == 0 ? 0 : 8 * bytes / static_cast<double>(entries);
}

Json LevelsJson(const Prediction& prediction) {
  Json levels = Json::array();
  for (const LevelPrediction& level : prediction.levels) {
    levels.push_back({{"level", level.level},
                      {"files", level.files},
                      {"files_without_filter", level.files_without_filter},
                      {"entries", level.entries},
                      {"filter_bytes", std::llround(level.filter_bytes)},
                      {"filter_bits_per_entry", BitsPerEntry(level.filter_bytes, level.entries)},
                      {"false_positive_rate", level.rate()},
                      {"files_asked_per_missing_lookup", level.meets},
                      {"expected_useless_reads_per_missing_lookup", level.reads}});
  }
  return levels;
}

Json FiltersJson(const Prediction& prediction, uint64_t entries) {
  return {{"filter_bytes", std::llround(prediction.filter_bytes)},
          {"filter_bits_per_entry", BitsPerEntry(prediction.filter_bytes, entries)},
          {"expected_useless_reads_per_missing_lookup", prediction.reads}};
}

Json BudgetsJson(const WhatIfOptions& options, uint64_t entries, const std::vector<Curve>& curves) {
  Json budgets = Json::array();
  for (int bits = options.least_bits; bits <= options.most_bits; bits++) {
    const double bytes = bits * static_cast<double>(entries) / 8;
    Json reads;
    for (const Curve& curve : curves) reads[curve.name] = NumberOrNull(curve.ReadsAt(bytes));
    budgets.push_back({{"filter_bits_per_entry", bits},
                       {"filter_bytes", std::llround(bytes)},
                       {"expected_useless_reads_per_missing_lookup", reads}});
  }
  return budgets;
}

// Reads per 1,000 missing keys against memory, without curves and marks.
Chart EmptyChart(const WhatIfOptions& options, const PlannedTree& tree, size_t levels) {
  constexpr int kMostTicks = 8;
  const uint64_t entries = tree.Entries();
  Chart chart;
  chart.title = "Useless reads against filter memory";
  chart.subtitle = "column family " + tree.tree->family.name + ": " + Thousands(entries) +
                   " entries in " + Thousands(tree.files.size()) + " files on " +
                   Thousands(levels) + " levels";
  chart.x_label = "filter memory: bits per entry, and in all";
  chart.y_label = "useless data-block reads per 1,000 lookups of missing keys";
  chart.x_min = options.least_bits;
  chart.x_max = options.most_bits;
  const int step = (options.most_bits - options.least_bits + kMostTicks - 1) / kMostTicks;
  for (int at = options.least_bits; at <= options.most_bits; at += step) {
    chart.ticks.push_back({static_cast<double>(at), std::to_string(at),
                           ShortBytes(at * static_cast<double>(entries) / 8)});
  }
  return chart;
}

ChartSeries SeriesOf(const Curve& curve, uint64_t entries) {
  ChartSeries series;
  series.name = curve.name;
  series.dashed = curve.family.rocksdb() != nullptr;
  for (const CurvePoint& point : curve.points) {
    series.points.push_back({BitsPerEntry(point.filter_bytes, entries), 1000 * point.reads});
  }
  return series;
}

// All policies on the tree, and what is made of them.
Status Compare(const WhatIfOptions& options, const std::vector<PolicySpec>& specs,
               const PlannedTree& tree, Progress* progress, Json* document, Chart* chart) {
  const std::vector<PolicySpec> families = Families(specs);
  const uint64_t entries = tree.Entries();
  const double key_bytes = MeanKeyBytes(tree);
  progress->Begin("predicting for column family " + tree.tree->family.name,
                  specs.size() + families.size());
  const Prediction now = PredictNow(tree);
  *chart = EmptyChart(options, tree, now.levels.size());
  const auto mark = [&](const std::string& name, const Prediction& prediction) {
    chart->marks.push_back(
        {name, {BitsPerEntry(prediction.filter_bytes, entries), 1000 * prediction.reads}});
  };
  if (tree.has_filters) mark("now", now);
  // Recommended is for this memory.
  double memory = now.filter_bytes;
  std::string memory_words = "in the memory that the filters take now";
  const double bytes_per_bit = static_cast<double>(entries) / 8;
  const bool hardly_any = memory < kFewBits * bytes_per_bit;
  if (hardly_any) {
    memory = kUsualBits * bytes_per_bit;
    memory_words = "with 10 bits of memory per entry";
  }
  Json policies = Json::array();
  std::vector<Prediction> predictions;
  for (const PolicySpec& spec : specs) {
    const Prediction& prediction = predictions.emplace_back(Predict(tree, spec));
    if (hardly_any && policies.empty() && prediction.filter_bytes > 0) {
      memory = prediction.filter_bytes;
      memory_words = "in the memory of " + spec.text();
    }
    mark(spec.text(), prediction);
    Json policy = {{"spec", spec.text()}};
    policy.update(FiltersJson(prediction, entries));
    policy["build_seconds"] = BuildSeconds(spec, prediction, key_bytes);
    policy["probe_nanoseconds_per_missing_lookup"] = ProbeNs(spec, prediction, key_bytes);
    policy["levels"] = LevelsJson(prediction);
    policies.push_back(policy);
    RETURN_IF_ERROR(Advanced(progress));
  }
  std::vector<Curve> curves;
  for (const PolicySpec& family : families) {
    curves.push_back(CurveOf(tree, family, options.least_bits, options.most_bits));
    chart->series.push_back(SeriesOf(curves.back(), entries));
    RETURN_IF_ERROR(Advanced(progress));
  }
  (*document)["now"] = FiltersJson(now, entries);
  (*document)["now"]["levels"] = LevelsJson(now);
  (*document)["policies"] = policies;
  CompareThroughCache(tree, options.block_cache, now, predictions, document);
  (*document)["budgets"] = BudgetsJson(options, entries, curves);
  (*document)["recommendation"] =
      Recommend(tree, now, curves, memory, memory_words, options.read_us, key_bytes);
  return Status::OK();
}

// Where lookups of missing keys go: of the user's, or of keys like the data.
Status PlaceLookups(const Tree& tree, std::vector<std::string> keys, Progress* progress,
                    PlannedTree* planned, std::vector<std::string>* warnings) {
  constexpr uint64_t kMissingKeys = 20000;
  planned->lookups_are_given = !keys.empty();
  if (!planned->lookups_are_given) {
    MissingKeys made;
    RETURN_IF_ERROR(MakeMissingKeys(tree, kMissingKeys, progress, &made));
    if (made.from_ranges_only) {
      warnings->push_back("keys could not be read (" + made.why +
                          "): lookups are spread evenly over the files");
    }
    keys = std::move(made.keys);
  }
  RETURN_IF_ERROR(PlaceLookups(&keys, progress, planned));
  planned->blocks_per_search = MeasureBlockReads(tree, keys).per_pass;
  return Status::OK();
}

// What the options name, read before anything else.
struct Inputs {
  std::vector<PolicySpec> specs;
  std::vector<std::string> keys;
  KeyRanges ranges;

  Status Read(const WhatIfOptions& options) {
    RETURN_IF_ERROR(ParseAll(options.specs, &specs));
    if (!options.probes.empty()) {
      RETURN_IF_ERROR(ReadProbeKeys(options.probes, options.probes_are_hex, &keys));
    }
    return options.ranges.empty() ? Status::OK() : ReadKeyRanges(options.ranges, &ranges);
  }
};

Status CompareFor(const WhatIfOptions& options, const Inputs& inputs, const Tree& tree,
                  Progress* progress, Json* document, Chart* chart) {
  std::vector<std::string> warnings = tree.Problems();
  if (tree.entries() == 0 && !warnings.empty()) {
    return Status::Corruption("no file of column family " + tree.family.name +
                              " can be read, so there is nothing to predict from: " + warnings[0]);
  }
  if (!tree.family.comparator_known) {
    warnings.push_back("the comparator " + tree.family.comparator_name +
                       " is not in this program: as if each lookup met every file");
  }
  PlannedTree planned = PlanTree(tree);
  Status status = PlaceLookups(tree, inputs.keys, progress, &planned, &warnings);
  *document = {{"name", tree.family.name},
               {"files", planned.files.size()},
               {"entries", planned.Entries()},
               {"filters_are_cached", planned.filters_cached}};
  if (status.ok()) status = Compare(options, inputs.specs, planned, progress, document, chart);
  (*document)["ranges"] = nullptr;
  if (status.ok() && options.with_ranges) {
    status = CompareForRanges(planned, inputs.specs, inputs.ranges, progress,
                              &(*document)["ranges"], &warnings);
  }
  (*document)["warnings"] = warnings;
  return status;
}

bool IsAskedFor(const WhatIfOptions& options, const std::string& family) {
  const std::vector<std::string>& names = options.column_families;
  return names.empty() || std::find(names.begin(), names.end(), family) != names.end();
}

}  // namespace

Status RunWhatIf(const WhatIfOptions& options, Progress* progress, Json* document,
                 std::vector<Chart>* charts, const DatabaseTrees* opened) {
  Inputs inputs;
  DatabaseTrees own;
  RETURN_IF_ERROR(inputs.Read(options));
  if (opened == nullptr) {
    opened = &own;
    RETURN_IF_ERROR(OpenAndReadTrees(options.database, options.column_families, progress, &own));
  }
  Json families = Json::array();
  for (const Tree& tree : opened->trees) {
    if (tree.file_count() == 0 || !IsAskedFor(options, tree.family.name)) continue;
    RETURN_IF_ERROR(CompareFor(options, inputs, tree, progress, &families.emplace_back(),
                               &charts->emplace_back()));
  }
  Json cache;
  if (options.block_cache.bytes > 0) {
    cache = {{"bytes", std::llround(options.block_cache.bytes)},
             {"high_pri_pool_ratio", options.block_cache.high_pri_pool_ratio},
             {"num_shard_bits", options.block_cache.shard_bits}};
  }
  *document = {{"database", opened->database->directory()},
               {"microseconds_per_block_read", options.read_us},
               {"block_cache", cache},
               {"column_families", families}};
  return Status::OK();
}

}  // namespace rocksieve::tools
