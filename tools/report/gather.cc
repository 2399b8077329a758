// SPDX-License-Identifier: Apache-2.0
#include "tools/report/page.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "tools/explain/explain.h"
#include "tools/whatif/whatif.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

uint64_t BytesOf(const Tree& tree) {
  uint64_t bytes = 0;
  for (const TreeFile* file : tree.files()) bytes += file->bytes;
  return bytes;
}

// The names of those that get a section; of the others says why not.
std::vector<std::string> Choose(const std::vector<Tree>& trees, DatabaseReport* report) {
  std::vector<const Tree*> with_files;
  for (const Tree& tree : trees) {
    if (tree.file_count() > 0) {
      with_files.push_back(&tree);
    } else {
      report->empty.push_back(tree.family.name);
    }
  }
  std::stable_sort(with_files.begin(), with_files.end(),
                   [](const Tree* a, const Tree* b) { return BytesOf(*a) > BytesOf(*b); });
  std::vector<std::string> names;
  for (size_t i = 0; i < with_files.size(); i++) {
    (i < kMostFamilies ? names : report->left_out).push_back(with_files[i]->family.name);
  }
  return names;
}

bool HaveRangeFilters(const std::vector<Tree>& trees) {
  for (const Tree& tree : trees) {
    for (const TreeFile* file : tree.files()) {
      if (file->filter.answers_ranges) return true;
    }
  }
  return false;
}

// Of the families that have a section.
Status ExplainChosen(const DatabaseTrees& opened, const std::vector<std::string>& names,
                     Progress* progress, DatabaseReport* report) {
  Json explanation = {{"column_families", Json::array()}};
  ExplainOptions options;
  options.column_families = names;
  Status status =
      HaveRangeFilters(opened.trees) ? ParseRangeLengths("", &options.range_lengths) : Status::OK();
  if (status.ok()) status = Explain(options, progress, &explanation, &opened);
  if (!status.ok()) return status;
  report->write_ahead_log_bytes = explanation.value("write_ahead_log_bytes", uint64_t{0});
  for (Json& family : explanation["column_families"]) {
    report->families.emplace_back().explained = std::move(family);
  }
  return status;
}

// Around the memory that filters take now.
void SetBits(const std::vector<FamilyReport>& families, WhatIfOptions* options) {
  constexpr int kMostBits = 32;
  for (const FamilyReport& family : families) {
    const double bits = std::min<double>(family.explained["bits_per_key"].get<double>(), kMostBits);
    options->most_bits =
        std::max(options->most_bits, std::min(kMostBits, static_cast<int>(std::ceil(bits)) + 2));
  }
}

// Of these families, which are in the order of the trees.
Status PredictFor(const DatabaseTrees& opened, WhatIfOptions options,
                  const std::vector<FamilyReport*>& families, Progress* progress) {
  for (const FamilyReport* family : families) {
    options.column_families.push_back(family->explained["name"].get<std::string>());
  }
  Json document;
  std::vector<Chart> charts;
  const Status status = RunWhatIf(options, progress, &document, &charts, &opened);
  if (!status.ok()) return status;
  for (size_t i = 0; i < families.size(); i++) {
    families[i]->predicted = std::move(document["column_families"][i]);
    families[i]->chart = std::move(charts[i]);
  }
  return status;
}

// One that cannot be predicted for, as if none of its files can be read, takes nothing from others.
Status PredictAll(const DatabaseTrees& opened, const std::vector<std::string>& specs,
                  Progress* progress, DatabaseReport* report) {
  WhatIfOptions options;
  options.specs = specs;
  SetBits(report->families, &options);
  std::vector<FamilyReport*> all;
  for (FamilyReport& family : report->families) all.push_back(&family);
  if (all.empty()) return Status::OK();
  const Status status = PredictFor(opened, options, all, progress);
  if (status.ok() || status.IsAborted() || status.IsInvalidArgument()) return status;
  for (FamilyReport* family : all) {
    const Status its_own =
        all.size() == 1 ? status : PredictFor(opened, options, {family}, progress);
    if (its_own.IsAborted()) return its_own;
    if (!its_own.ok()) family->why_not = MessageOf(its_own);
  }
  return Status::OK();
}

void Examine(DatabaseTrees opened, Progress* progress, DatabaseReport* report) {
  const Facts facts = FactsOf(std::move(opened), progress);
  report->process_seen = facts.process.has_value();
  report->findings = RunChecks(facts);
  report->options_file = facts.options.file_name();
  report->log_file = facts.log() == nullptr ? "" : facts.log()->name;
  report->open_in_process = facts.lock_holder;
}

}  // namespace

bool DatabaseReport::damaged() const {
  return std::any_of(families.begin(), families.end(), [](const FamilyReport& family) {
    return !family.explained["problems"].empty();
  });
}

Status Gather(const std::string& directory, const std::vector<std::string>& column_families,
              const std::vector<std::string>& specs, Progress* progress, DatabaseReport* report) {
  report->directory = directory;
  DatabaseTrees opened;
  Status status = OpenAndReadTrees(directory, column_families, progress, &opened);
  if (!status.ok()) return status;
  const std::vector<std::string> names = Choose(opened.trees, report);
  if (!names.empty()) {
    status = ExplainChosen(opened, names, progress, report);
    if (status.ok()) status = PredictAll(opened, specs, progress, report);
    if (!status.ok()) return status;
  }
  Examine(std::move(opened), progress, report);
  return InterruptSignal() == 0 ? status : Status::Aborted("interrupted");
}

}  // namespace rocksieve::tools
