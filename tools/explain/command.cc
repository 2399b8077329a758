// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>

#include "support/text.h"
#include "tools/command/command.h"
#include "tools/explain/explain.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kWidth = 96;
constexpr size_t kMostProblems = 20;

using Kind = Column::Kind;

std::string Paragraph(const std::string& text) { return Wrapped(text, TextColumns(kWidth)) + "\n"; }

std::string RatesTable(const Json& family) {
  Json rows = family["levels"];
  rows.push_back(family);
  rows.back()["level"] = "all";
  return ForPeople(
      {{"level", "", "level", Kind::kText, 0, LevelName},
       {"files", "", "files", Kind::kFixed, 0},
       {"files_without_filter", "no", "filter", Kind::kFixed, 0, nullptr, 4},
       {"keys", "", "keys", Kind::kFixed, 0},
       {"filter_bytes", "filter", "bytes", Kind::kFixed, 0, nullptr, 2},
       {"bits_per_key", "bits", "per key"},
       {"predicted_false_positive_rate", "predicted", "rate, %", Kind::kPercent, 3, nullptr, 3},
       {"measured_false_positive_rate", "measured", "rate, %", Kind::kPercent, 3},
       {"files_per_missing_lookup", "files per", "lookup", Kind::kFixed, 2, nullptr, 1},
       {"passes_per_missing_lookup", "pass per", "1000 miss.", Kind::kFixed, 0, PerThousand}},
      rows);
}

std::string FiltersList(const Json& family) {
  std::string text;
  for (const Json& level : family["levels"]) {
    for (const Json& group : level["filters"]) {
      const Json setting = SettingOf(group);
      text += "  " + LevelName(level["level"]) + Filled("  {family}", group) +
              (setting.is_null() ? "" : ", " + setting.get<std::string>()) +
              (group["partitioned_files"] > 0 ? ", partitioned" : "") + ": " +
              Counted(group["files"], "file") + "\n";
    }
  }
  return text;
}

std::string Sum(const Json& family) {
  if (family["expected_useless_reads_per_missing_lookup"].is_null()) return "";
  std::string words = "A lookup of a missing key reads ";
  if (family["expected_useless_reads_is_upper_bound"]) words += "at most ";
  return Paragraph(words + UselessReadsWords(family));
}

// The kinds of ranges, each level by level.
std::string RangesTable(const Json& ranges) {
  Json rows = Json::array();
  for (const Json& kind : ranges) {
    if (kind["empty_ranges"] == 0) continue;
    Json parts = kind["levels"];
    parts.push_back(kind);
    parts.back()["level"] = "all";
    bool is_first = true;
    for (size_t i = 0; i < parts.size(); i++) {
      if (parts.size() == 2 && i == 0) continue;  // of one level, all are those of the level
      parts[i]["range"] = is_first ? NameOfRange(kind) : "";
      is_first = false;
      rows.push_back(parts[i]);
    }
  }
  return ForPeople(
      {{"range", "", "range", Kind::kText},
       {"level", "", "level", Kind::kText, 0, LevelName},
       {"files_per_empty_range", "files per", "range", Kind::kFixed, 2, nullptr, 1},
       {"predicted_pass_rate", "predicted", "rate, %", Kind::kPercent, 3, nullptr, 2},
       {"measured_pass_rate", "measured", "rate, %", Kind::kPercent, 3},
       {"passes_per_empty_range", "pass per", "1000 ranges", Kind::kFixed, 0, PerThousand}},
      rows);
}

std::string RangesInWords(const Json& ranges) {
  if (ranges.empty()) return "";
  std::string text =
      Paragraph(
          "Ranges without a key, and prefixes that no key has, of iterators with an upper bound:") +
      "\n" + RangesTable(ranges) + "\n";
  for (const Json& kind : ranges) {
    if (kind["empty_ranges"] == 0) {
      text += Paragraph("No empty " + NameOfRange(kind) + " found: keys are too close together.");
      continue;
    }
    text += Paragraph(
        NameOfRange(kind) +
        Filled(": {expected_useless_reads_per_empty_range:3} data blocks in vain (95 %: "
               "{/expected_useless_reads_95/0:3} to {/expected_useless_reads_95/1:3}; from "
               "{empty_ranges} ranges; predicted: at most "
               "{predicted_useless_reads_per_empty_range:3}). Without filters: "
               "{useless_reads_per_empty_range_without_filters:3}.",
               kind));
  }
  return text;
}

std::string Problems(const Json& problems) {
  std::string text;
  const size_t shown = std::min(problems.size(), kMostProblems);
  for (size_t i = 0; i < shown; i++) {
    text += Paragraph("Damaged: " + problems[i].get<std::string>());
  }
  if (problems.size() > shown) {
    text += "... and " + Thousands(problems.size() - shown) + " more; --json has all.\n";
  }
  return shown > 0 ? text + Paragraph(kDamageRemedy) : "";
}

std::string FamilyInWords(const Json& family) {
  std::string text = Filled("Column family {name}: ", family);
  if (family["levels"].empty()) {
    text += "no files, so no filters, and lookups read nothing.\n";
  } else {
    text += Counted(family["files"], "file") + ", " + Counted(family["keys"], "key") +
            Filled(", {filter_bytes} bytes of filters", family) +
            Filled(family["filter_budget_bytes"].is_null()
                       ? "\n\n"
                       : ", of {filter_budget_bytes} that {filter_policy} may take\n\n",
                   family) +
            RatesTable(family) + "\nFilters:\n" + FiltersList(family) + "\n" + Sum(family);
    if (!family["ranges"].empty()) text += "\n" + RangesInWords(family["ranges"]);
  }
  for (const Json& note : family["notes"]) {
    text += Paragraph("Note: " + note.get<std::string>() + ".");
  }
  return text + Problems(family["problems"]);
}

std::string InWords(const Json& explanation) {
  std::string text;
  for (const Json& family : explanation["column_families"]) {
    text += (text.empty() ? "" : "\n") + FamilyInWords(family);
  }
  if (explanation["write_ahead_log_bytes"] > 0) {
    text += Paragraph(
        Filled("Note: write-ahead logs of {write_ahead_log_bytes} bytes may hold keys that are in "
               "no file yet, and so not in this report.",
               explanation));
  }
  return text;
}

}  // namespace

Command AddExplainCommand(Parser* parent) {
  const auto shared = std::make_shared<ExplainOptions>();
  const auto ranges = std::make_shared<std::string>();
  Parser* parser = AddParser(
      parent,
      {.name = "explain",
       .summary = "the filters of a database, and what a missing key costs",
       .description =
           "Shows for each column family and level: files, keys, filter memory, families and "
           "settings of the filters (RocksDB's own as well), the false-positive rates that they "
           "promise and have; and the data blocks that a lookup of a missing key reads in vain. "
           "Only looks: nothing is written, other processes may go on.",
       .exit_codes = "0 done; 1 a file or filter is damaged; 2 could not run, or bad usage",
       .example = "Example:\n  rocksieve explain --db=/var/lib/app/db"});
  ExplainOptions& options = *shared;
  AddText(parser, "--db", &options.directory, "DIR", "the database")->required();
  AddText(parser, "--column-family", &options.column_families, "NAME",
          "only this one; may be repeated");
  Option* const probes =
      AddText(parser, "--probes", &options.probes, "FILE",
              "missing keys of your own, one per line, - for standard input. Default: random keys "
              "that are not there, made like the data");
  parser->add_flag("--hex", options.probes_are_hex, "the keys in FILE are in hexadecimal digits")
      ->needs(probes);
  parser->add_option("--probe-count", options.probe_count, "so many random keys. Default: 200000")
      ->type_name("N")
      ->check(CLI::Range(1, 100000000))
      ->excludes(probes);
  Option* const with_ranges =
      parser
          ->add_flag(
              "--ranges{}", *ranges,
              "iterators over empty ranges as well: of 16, 256 and 4,096 consecutive numbers, and "
              "absent prefixes; --ranges=1,100: of these lengths")
          ->type_name("LENGTHS");
  return Reporting(parser, [shared, ranges, with_ranges](Progress* progress, Report* report) {
    report->words = InWords;
    rocksdb::Status status;
    if (with_ranges->count() > 0) status = ParseRangeLengths(*ranges, &shared->range_lengths);
    if (!status.ok()) return status;
    return Explain(*shared, progress, &report->document);
  });
}

}  // namespace rocksieve::tools
