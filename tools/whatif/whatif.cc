#include "tools/whatif/whatif.h"

#include <algorithm>
#include <memory>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "plugin/probe/block_reads.h"
#include "plugin/probe/missing_keys.h"
#include "support/parallel.h"
#include "tools/whatif/calibration.h"

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
    const Status status = PolicySpec::Parse(text, &spec);
    if (!status.ok()) return status;
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

std::vector<BudgetRow> Budgets(const WhatIfOptions& options, const WhatIfResult& result) {
  std::vector<BudgetRow> rows;
  for (int bits = options.least_bits; bits <= options.most_bits; bits++) {
    BudgetRow row;
    row.bits_per_entry = bits;
    row.filter_bytes = bits * static_cast<double>(result.tree.Entries()) / 8;
    for (const Curve& curve : result.curves) row.reads.push_back(curve.ReadsAt(row.filter_bytes));
    rows.push_back(row);
  }
  return rows;
}

RecommendationInput MemoryToCompareIn(const WhatIfResult& result) {
  RecommendationInput input;
  const double bytes_per_bit = static_cast<double>(result.tree.Entries()) / 8;
  if (result.now.filter_bytes >= kFewBits * bytes_per_bit) {
    input.filter_bytes = result.now.filter_bytes;
    input.memory_words = "in the memory that the filters take now";
  } else if (!result.policies.empty() && result.policies[0].prediction.filter_bytes > 0) {
    input.filter_bytes = result.policies[0].prediction.filter_bytes;
    input.memory_words = "in the memory of " + result.policies[0].spec.text();
  } else {
    input.filter_bytes = kUsualBits * bytes_per_bit;
    input.memory_words = "with 10 bits of memory per entry";
  }
  return input;
}

Status Compare(const WhatIfOptions& options, const std::vector<PolicySpec>& specs,
               Progress* progress, WhatIfResult* result) {
  const PlannedTree& tree = result->tree;
  const std::vector<PolicySpec> families = Families(specs);
  Calibration calibration(MeanKeyBytes(tree));
  result->now = PredictNow(tree);
  progress->Begin("predicting for column family " + tree.column_family,
                  specs.size() + families.size());
  for (const PolicySpec& spec : specs) {
    PolicyResult policy;
    policy.spec = spec;
    policy.prediction = Predict(tree, spec);
    policy.build_seconds = calibration.BuildSeconds(spec, policy.prediction);
    policy.probe_ns = calibration.ProbeNs(spec, policy.prediction);
    result->policies.push_back(policy);
    const Status status = Advanced(progress);
    if (!status.ok()) return status;
  }
  for (const PolicySpec& family : families) {
    result->curves.push_back(CurveOf(tree, family, options.least_bits, options.most_bits));
    const Status status = Advanced(progress);
    if (!status.ok()) return status;
  }
  result->budgets = Budgets(options, *result);
  RecommendationInput input = MemoryToCompareIn(*result);
  input.tree = &tree;
  input.now = &result->now;
  input.curves = &result->curves;
  input.read_us = options.read_us;
  result->recommendation = Recommend(input, &calibration);
  return Status::OK();
}

constexpr uint64_t kMissingKeys = 20000;

// Where lookups of missing keys go: of the user's, or of keys like the data.
Status PlaceLookups(const Database& database, size_t family, const Tree& tree,
                    std::vector<std::string> keys, Progress* progress, WhatIfResult* result) {
  if (keys.empty()) {
    MissingKeys made;
    const Status status = MakeMissingKeys(database, family, tree, kMissingKeys, progress, &made);
    if (!status.ok()) return status;
    if (made.from_ranges_only) {
      result->warnings.push_back("keys could not be read (" + made.why +
                                 "): lookups are spread evenly over the files");
    }
    keys = std::move(made.keys);
  }
  const Status status = PlaceLookups(tree, &keys, progress, &result->tree);
  if (!status.ok()) return status;
  result->tree.blocks_per_search = MeasureBlockReads(database, family, tree, keys).per_pass;
  return status;
}

Status WhatIfForFamily(const WhatIfOptions& options, const std::vector<PolicySpec>& specs,
                       const Database& database, size_t family, const Tree& tree,
                       const std::vector<std::string>& keys, Progress* progress,
                       WhatIfResult* result) {
  result->warnings = tree.Problems();
  if (tree.entries() == 0 && !result->warnings.empty()) {
    return Status::Corruption(
        "no file of column family " + tree.family.name +
        " can be read, so there is nothing to predict from: " + result->warnings[0]);
  }
  if (!tree.family.comparator_known) {
    result->warnings.push_back("the comparator " + tree.family.comparator_name +
                               " is not in this program: as if each lookup met every file");
  }
  result->tree = PlanTree(database, tree);
  const Status status = PlaceLookups(database, family, tree, keys, progress, result);
  return status.ok() ? Compare(options, specs, progress, result) : status;
}

}  // namespace

Status RunWhatIf(const WhatIfOptions& options, Progress* progress,
                 std::vector<WhatIfResult>* results) {
  std::vector<PolicySpec> specs;
  Status status = ParseAll(options.specs, &specs);
  if (!status.ok()) return status;
  std::vector<std::string> keys;
  if (!options.probes.empty()) {
    status = ReadProbeKeys(options.probes, options.probes_are_hex, &keys);
    if (!status.ok()) return status;
  }
  std::unique_ptr<Database> database;
  std::vector<Tree> trees;
  status = OpenAndReadTrees(options.database, options.column_families, progress, &database, &trees);
  if (!status.ok()) return status;
  for (size_t i = 0; i < trees.size(); i++) {
    if (trees[i].file_count() == 0) continue;
    WhatIfResult result;
    status = WhatIfForFamily(options, specs, *database, i, trees[i], keys, progress, &result);
    if (!status.ok()) return status;
    results->push_back(std::move(result));
  }
  return status;
}

}  // namespace rocksieve::tools
