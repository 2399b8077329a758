// SPDX-License-Identifier: Apache-2.0
#include "tools/report/page.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <rocksdb/version.h>

#include "plugin/database/tree.h"
#include "support/return_if_error.h"
#include "support/text.h"
#include "tools/explain/explain.h"
#include "tools/report/html.h"
#include "tools/whatif/whatif.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kMostFindings = 100, kMostEvidence = 20, kMostNames = 50;

// Nothing may be fetched from anywhere, whatever a name in the page says. Styles are in the page.
constexpr char kPolicy[] =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

Html Tile(const std::string& number, const std::string& what, const std::string& tone = "") {
  return Element("li", tone.empty() ? Attributes{} : Attributes{{"class", tone}},
                 Element("b", number) + Element("span", what));
}

std::string ToneOf(const DatabaseReport& database) {
  if (database.damaged()) return "error";
  if (database.findings.empty()) return "good";
  return database.findings.front().severity == Severity::kError ? "error" : "warning";
}

// The reads of the column family with the most keys stand for the database: others have their own.
Html Tiles(const DatabaseReport& database) {
  uint64_t files = 0, keys = 0, bytes = 0, filter_bytes = 0;
  const Json* largest = nullptr;
  for (const FamilyReport& family : database.families) {
    const Json& explained = family.explained;
    files += explained["files"].get<uint64_t>();
    keys += explained["keys"].get<uint64_t>();
    bytes += explained["file_bytes"].get<uint64_t>();
    filter_bytes += explained["filter_bytes"].get<uint64_t>();
    if (largest == nullptr || explained["keys"] > (*largest)["keys"]) largest = &explained;
  }
  const double bits =
      keys == 0 ? 0 : 8 * static_cast<double>(filter_bytes) / static_cast<double>(keys);
  Html tiles = Tile(Thousands(keys), "keys in " + Counted(files, "file") + ", " +
                                         ShortBytes(static_cast<double>(bytes)));
  tiles += Tile(ShortBytes(static_cast<double>(filter_bytes)),
                "of filters, " + Fixed(bits, 2) + " bits per key");
  constexpr char kMeasuredReads[] = "expected_useless_reads_per_missing_lookup";
  if (largest != nullptr && (*largest)[kMeasuredReads].is_number()) {
    const double without =
        (*largest)["useless_reads_per_missing_lookup_without_filters"].get<double>();
    const std::string of = database.families.size() == 1
                               ? ""
                               : " (column family " + (*largest)["name"].get<std::string>() + ")";
    tiles += Tile(Significant(1000 * (*largest)[kMeasuredReads].get<double>(), 3),
                  "useless reads per 1,000 missing keys, without filters " +
                      Significant(1000 * without, without >= 0.1 ? 4 : 3) + of);
  }
  const size_t findings = database.findings.size();
  tiles += Tile(Thousands(findings),
                database.damaged() ? "findings, and damage"
                : findings == 1    ? "finding"
                                   : "findings",
                ToneOf(database));
  return Element("ul", {{"class", "tiles"}}, tiles);
}

Html FindingHtml(const Finding& finding) {
  Html evidence;
  for (size_t i = 0; i < std::min(finding.evidence.size(), kMostEvidence); i++) {
    evidence += Element("p", Shown(finding.evidence[i]));
  }
  if (finding.evidence.size() > kMostEvidence) {
    evidence += Element("p", "... and " + Thousands(finding.evidence.size() - kMostEvidence) +
                                 " more; rocksieve doctor has all.");
  }
  const std::string severity = NameOf(finding.severity);
  Html head = Element("b", severity) + " " + Element("code", finding.id);
  if (!finding.column_family.empty()) {
    head += Html(" (column family ") + Element("bdi", Shown(finding.column_family, 200)) + ")";
  }
  return Element(
      "div", {{"class", "finding " + severity}},
      Element("h3", head + ": " + Shown(finding.title)) +
          Element("dl", Element("dt", "seen") + Element("dd", evidence) +
                            Element("dt", "consequence") +
                            Element("dd", Shown(finding.consequence)) + Element("dt", "remedy") +
                            Element("dd", Shown(finding.remedy))));
}

Html FindingsSection(const DatabaseReport& database) {
  Html html = Element("h2", {{"id", "findings"}}, "Findings");
  std::string looked = "Looked at";
  looked += database.options_file.empty() ? " no OPTIONS file (there is none)"
                                          : " " + database.options_file;
  looked += database.log_file.empty() ? "" : ", " + database.log_file;
  looked += ", the table files and their filters";
  if (database.open_in_process != 0) {
    const std::string process = std::to_string(database.open_in_process);
    looked += database.process_seen
                  ? ", and process " + process + ", which has the database open"
                  : "; process " + process +
                        " has the database open, and cannot be looked into from here";
  }
  if (database.findings.empty()) {
    html += Element("p", {{"class", "finding"}},
                    Element("b", "Healthy.") + " " + Html("No finding. " + looked + "."));
  } else {
    html += Element("p", {{"class", "soft"}}, looked + ".");
  }
  for (size_t i = 0; i < std::min(database.findings.size(), kMostFindings); i++) {
    html += FindingHtml(database.findings[i]);
  }
  if (database.findings.size() > kMostFindings) {
    html += Element("p", "... and " + Thousands(database.findings.size() - kMostFindings) +
                             " more; rocksieve doctor has all.");
  }
  return Element("section", {{"aria-labelledby", "findings"}}, html);
}

// "others: a, b, c and 12 more"
Html Names(const std::string& what, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  Html html = what;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); i++) {
    html += Html(i == 0 ? " " : ", ") + Element("bdi", Shown(names[i], 200));
  }
  if (names.size() > kMostNames) html += " and " + Thousands(names.size() - kMostNames) + " more";
  return Element("p", html + ".");
}

Html LeftOut(const DatabaseReport& database) {
  Html html = Names(
                  "Smaller column families, which have no section (--column-family=NAME gives "
                  "one):",
                  database.left_out) +
              Names("Column families without files:", database.empty);
  if (database.write_ahead_log_bytes > 0) {
    html += Element("p", Filled("Write-ahead logs of {bytes} bytes may hold keys that are in no "
                                "file yet, and so not in this report.",
                                {{"bytes", database.write_ahead_log_bytes}}));
  }
  if (html.empty()) return html;
  return Element("section", {{"aria-labelledby", "left-out"}},
                 Element("h2", {{"id", "left-out"}}, "Not in this report") + html);
}

Html Link(const std::string& id, const Html& text) {
  return Element("li", Element("a", {{"href", "#" + id}}, text));
}

// Where there is more than a section to go to.
Html Contents(const PageFacts& facts) {
  Html links;
  if (facts.database) {
    links += Link("findings", "Findings");
    for (size_t i = 0; i < facts.database->families.size(); i++) {
      const auto name = facts.database->families[i].explained["name"].get<std::string>();
      links += Link("cf-" + std::to_string(i + 1), Element("bdi", Shown(name, 60)));
    }
  }
  for (size_t i = 0; i < facts.joins.size(); i++) {
    const JoinFile& join = facts.joins[i];
    links += Link("join-" + std::to_string(i + 1),
                  join.is_plan ? "Plan of a join" : Filled("Join: {operation}", join.document));
  }
  const size_t sections =
      facts.joins.size() + (facts.database ? facts.database->families.size() : 0);
  return sections < 2 ? Html() : Element("nav", {{"aria-label", "Contents"}}, Element("ul", links));
}

Html Footer() {
  return Element(
      "footer",
      Element("p",
              "A missing key is one that the database has not. A useless read is one of a data "
              "block for which a filter that lets a missing key pass is the only reason. Rates and "
              "reads are measured with keys that are not there and lie where the data is; what "
              "other policies would do is predicted, as if each file were written anew at its "
              "level. Times are of the machine and the moment at which this was made.") +
          Element("p", "Made by rocksieve " ROCKSIEVE_VERSION " with RocksDB " +
                           rocksdb::GetRocksVersionAsString() +
                           ". This file needs no network, and has no scripts."));
}

}  // namespace

std::string Page(const PageFacts& facts) {
  const std::string title =
      facts.database ? "Filters of " + Shown(facts.database->directory) : "Joins";
  const Html head =
      EmptyElement("meta", {{"charset", "utf-8"}}) +
      EmptyElement("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", kPolicy}}) +
      EmptyElement("meta",
                   {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}) +
      EmptyElement("meta", {{"name", "color-scheme"}, {"content", "light dark"}}) +
      EmptyElement("meta", {{"name", "generator"}, {"content", "rocksieve " ROCKSIEVE_VERSION}}) +
      Element("title", title) + Element("style", Html::OfMarkup(kStyle));
  Html top =
      Element("h1", title) +
      Element("p", {{"class", "soft"}}, "As of " + UtcText(facts.unix_time, "%Y-%m-%d %H:%M UTC")) +
      Contents(facts);
  Html body;
  if (facts.database) {
    const DatabaseReport& database = *facts.database;
    if (!database.families.empty()) top += Tiles(database);
    body += FindingsSection(database);
    if (database.families.empty()) {
      body += Element(
          "p", "No column family looked at has table files, so there is nothing to filter yet.");
    }
    for (size_t i = 0; i < database.families.size(); i++) {
      body += FamilySection(i + 1, database.families[i]);
    }
    body += LeftOut(database);
  }
  for (size_t i = 0; i < facts.joins.size(); i++) body += JoinSection(i + 1, facts.joins[i]);
  return "<!DOCTYPE html>\n" +
         Element("html", {{"lang", "en"}},
                 Element("head", head) +
                     Element("body", Element("header", top) + Element("main", body) + Footer()))
             .markup();
}

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
  RETURN_IF_ERROR(HaveRangeFilters(opened.trees) ? ParseRangeLengths("", &options.range_lengths)
                                                 : Status::OK());
  RETURN_IF_ERROR(Explain(options, progress, &explanation, &opened));
  report->write_ahead_log_bytes = explanation.value("write_ahead_log_bytes", uint64_t{0});
  for (Json& family : explanation["column_families"]) {
    report->families.emplace_back().explained = std::move(family);
  }
  return Status::OK();
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
  RETURN_IF_ERROR(RunWhatIf(options, progress, &document, &charts, &opened));
  for (size_t i = 0; i < families.size(); i++) {
    families[i]->predicted = std::move(document["column_families"][i]);
    families[i]->chart = std::move(charts[i]);
  }
  return Status::OK();
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
  RETURN_IF_ERROR(OpenAndReadTrees(directory, column_families, progress, &opened));
  const std::vector<std::string> names = Choose(opened.trees, report);
  if (!names.empty()) {
    RETURN_IF_ERROR(ExplainChosen(opened, names, progress, report));
    RETURN_IF_ERROR(PredictAll(opened, specs, progress, report));
  }
  Examine(std::move(opened), progress, report);
  return InterruptSignal() == 0 ? Status::OK() : Status::Aborted("interrupted");
}

}  // namespace rocksieve::tools
