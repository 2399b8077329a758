#include "tools/whatif/whatif.h"

#include <algorithm>
#include <memory>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "plugin/probe/block_reads.h"
#include "plugin/probe/missing_keys.h"
#include "plugin/probe/probe_file.h"
#include "support/parallel.h"
#include "tools/whatif/calibration.h"
#include "tools/whatif/lookups.h"
#include "tools/whatif/read_tree.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// Always compared, whatever is asked for.
constexpr const char* kCurveSpecs[] = {"bloomfilter:10:false", "ribbonfilter:10:0",
                                       "rocksieve.bloom:10", "rocksieve.ribbon:10",
                                       "rocksieve.auto:10"};

// The memory that a recommendation is for, if the filters that are there are none, or hardly any.
constexpr double kUsualBits = 10, kFewBits = 4;

Status ParseAll(const std::vector<std::string>& specs, std::vector<Contender>* contenders) {
  for (const std::string& spec : specs) {
    Contender contender;
    const Status status = ParseContender(spec, &contender);
    if (!status.ok()) return status;
    contenders->push_back(contender);
  }
  return Status::OK();
}

// The curves' families: the usual ones, and those of the specs.
std::vector<Contender> Families(const std::vector<Contender>& contenders) {
  std::vector<Contender> families;
  for (const char* spec : kCurveSpecs) {
    Contender family;
    if (ParseContender(spec, &family).ok()) families.push_back(family);
  }
  for (const Contender& contender : contenders) {
    const auto same = [&](const Contender& f) { return f.FamilyName() == contender.FamilyName(); };
    if (contender.kind != ContenderKind::kNone &&
        std::none_of(families.begin(), families.end(), same)) {
      families.push_back(contender);
    }
  }
  return families;
}

double MeanKeyBytes(const PlannedTree& tree) {
  double bytes = 0;
  for (const PlannedFile& file : tree.files) {
    bytes += file.key_bytes * static_cast<double>(file.entries);
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
    input.memory_words = "in the memory of " + result.policies[0].contender.spec;
  } else {
    input.filter_bytes = kUsualBits * bytes_per_bit;
    input.memory_words = "with 10 bits of memory per entry";
  }
  return input;
}

Status Compare(const WhatIfOptions& options, const std::vector<Contender>& contenders,
               Progress* progress, WhatIfResult* result) {
  const PlannedTree& tree = result->tree;
  const std::vector<Contender> families = Families(contenders);
  Calibration calibration(MeanKeyBytes(tree));
  result->now = PredictNow(tree);
  progress->Begin("predicting for column family " + tree.column_family,
                  contenders.size() + families.size());
  for (const Contender& contender : contenders) {
    PolicyResult policy;
    policy.contender = contender;
    policy.prediction = Predict(tree, contender);
    policy.build_seconds = calibration.BuildSeconds(contender, policy.prediction);
    policy.probe_ns = calibration.ProbeNs(contender, policy.prediction);
    result->policies.push_back(policy);
    const Status status = Advanced(progress);
    if (!status.ok()) return status;
  }
  for (const Contender& family : families) {
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

Status WhatIfForFamily(const WhatIfOptions& options, const std::vector<Contender>& contenders,
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
  return status.ok() ? Compare(options, contenders, progress, result) : status;
}

}  // namespace

Status RunWhatIf(const WhatIfOptions& options, Progress* progress,
                 std::vector<WhatIfResult>* results) {
  std::vector<Contender> contenders;
  Status status = ParseAll(options.specs, &contenders);
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
    status = WhatIfForFamily(options, contenders, *database, i, trees[i], keys, progress, &result);
    if (!status.ok()) return status;
    results->push_back(std::move(result));
  }
  return status;
}

}  // namespace rocksieve::tools
