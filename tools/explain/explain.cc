#include <algorithm>
#include <cmath>

#include "plugin/database/open_errors.h"
#include "plugin/probe/missing_keys.h"
#include "plugin/probe/probe_file.h"
#include "support/text.h"
#include "tools/explain/explanation.h"
#include "tools/explain/totals.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

std::string Percent(uint64_t part, uint64_t whole) {
  return Fixed(100 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
}

void AddNotes(const MissingKeys& made, bool own_probes, FamilyExplanation* family) {
  const ColumnFamily& described = family->tree.family;
  std::vector<std::string>& notes = family->notes;
  if (!described.comparator_known) {
    notes.push_back("the comparator " + described.comparator_name +
                    " is not in this program, so it is unknown which files a lookup comes to; "
                    "rates of filters are right, and reads are not told");
  }
  if (made.from_ranges_only && !own_probes) {
    notes.push_back("keys could not be read" +
                    (family->problems.empty() ? " (" + made.why + ")" : "") +
                    ": the probes lie between the first and the last keys of files");
  }
  if (described.optimize_filters_for_hits) {
    notes.push_back(
        "optimize_filters_for_hits is on: lookups do not ask the filters of the last "
        "level, if it has any");
  }
  const bool asks_prefixes = !described.whole_key_filtering;
  if (asks_prefixes && described.prefix_extractor_name.empty()) {
    notes.push_back(
        "whole_key_filtering is off and there is no prefix extractor: no lookup asks a "
        "filter");
  } else if (asks_prefixes && described.prefix_extractor == nullptr) {
    notes.push_back("the prefix extractor " + described.prefix_extractor_name +
                    " is not in this program: its filters count as absent");
  } else if (asks_prefixes) {
    notes.push_back("filters are asked for prefixes (" + described.prefix_extractor_name +
                    "): keys with a prefix that the data has are let through; predicted rates are "
                    "those of prefixes that it has not");
  }
  if (described.filter_policy == "nullptr") {
    notes.push_back(
        "the OPTIONS file names no filter policy: a program that takes its options "
        "from there asks none of these filters");
  }
  if (family->reads_are_upper_bound) {
    notes.push_back(
        "some filters are of a policy that neither rocksieve nor RocksDB has; they "
        "count as absent");
  }
  if (!family->reads.error.empty() && described.comparator_known && family->problems.empty()) {
    notes.push_back("some lookups failed, so the reads are those of the others: " +
                    family->reads.error);
  }
  if (family->reads.keys_found > 0) {
    notes.push_back(Percent(family->reads.keys_found, family->reads.keys_tried) +
                    " of the probes, of a sample, are keys of the database; they count as reads "
                    "in vain. --probes wants missing keys only");
  }
}

void SumUp(FamilyExplanation* family) {
  const double blocks = family->reads.per_pass;
  family->reads_known = family->tree.family.comparator_known;
  family->expected_reads = blocks * family->probes.passes;
  family->expected_reads_low_95 = blocks * family->probes.passes_low_95;
  family->expected_reads_high_95 = blocks * family->probes.passes_high_95;
  family->predicted_reads = blocks * family->totals.predicted_passes;
  family->reads_without_filters = blocks * family->probes.files_met;
  for (const TreeLevel& level : family->tree.levels) {
    for (const TreeFile& file : level.files) {
      if (!file.filter.can_be_asked) family->reads_are_upper_bound = true;
    }
  }
}

Status ExplainFamily(const Database& database, size_t number, const ExplainOptions& options,
                     std::vector<std::string> keys, Progress* progress, FamilyExplanation* family) {
  const bool own_probes = !options.probes.empty();
  MissingKeys made;
  if (!own_probes) {
    const Status status =
        MakeMissingKeys(database, number, family->tree, options.probe_count, progress, &made);
    if (!status.ok()) return status;
    keys = std::move(made.keys);
  }
  const Status status = ProbeTree(family->tree, &keys, progress, &family->probes);
  if (!status.ok()) return status;
  family->reads = MeasureBlockReads(database, number, family->tree, keys);
  AddUpLevels(family);
  SumUp(family);
  family->problems = family->tree.Problems();
  AddNotes(made, own_probes, family);
  return status;
}

}  // namespace

bool Explanation::HasProblems() const {
  return std::any_of(families.begin(), families.end(),
                     [](const auto& family) { return !family.problems.empty(); });
}

Status Explain(const ExplainOptions& options, Progress* progress, Explanation* result) {
  std::vector<std::string> keys;
  Status status;
  if (!options.probes.empty()) {
    status = ReadProbeKeys(options.probes, options.probes_are_hex, &keys);
    if (!status.ok()) return status;
  }
  std::unique_ptr<Database> database;
  std::vector<Tree> trees;
  status =
      OpenAndReadTrees(options.directory, options.column_families, progress, &database, &trees);
  if (!status.ok()) return status;
  result->directory = options.directory;
  result->options_file = database->options().file_name();
  result->own_probes = !options.probes.empty();
  result->write_ahead_log_bytes = database->write_ahead_log_bytes();
  for (size_t i = 0; i < trees.size(); i++) {
    FamilyExplanation family;
    family.tree = std::move(trees[i]);
    status = ExplainFamily(*database, i, options, keys, progress, &family);
    if (!status.ok()) return status;
    result->families.push_back(std::move(family));
  }
  progress->Clear();
  return Status::OK();
}

}  // namespace rocksieve::tools
