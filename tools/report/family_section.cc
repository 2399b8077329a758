// SPDX-License-Identifier: Apache-2.0
#include "tools/report/family_section.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "support/text.h"
#include "tools/report/cost_section.h"
#include "tools/report/tree_picture.h"

namespace rocksieve::tools {
namespace {

using Kind = Column::Kind;

constexpr size_t kMostProblems = 20, kMostNotes = 50;

std::string PerThousand(const Json& passes) { return Significant(1000 * passes.get<double>(), 3); }

std::vector<PictureFile> FilesOf(const Json& family) {
  std::vector<PictureFile> files;
  for (const Json& file : family["table_files"]) {
    files.push_back({file["name"], file["level"], file["keys"], file["file_bytes"],
                     file["filter_bytes"], file["family"], !file["error"].is_null()});
  }
  return files;
}

// The families of the curves have the colours of their curves; others, what is left.
Colours ColoursOf(const FamilyReport& family, const std::vector<PictureFile>& files) {
  Colours colours;
  if (family.chart) {
    for (size_t i = 0; i < family.chart->series.size(); i++) {
      colours.emplace(family.chart->series[i].name, ClassOfSeries(i));
    }
  }
  for (const PictureFile& file : files) {
    if (file.filter != "none") colours.emplace(file.filter, ClassOfSeries(colours.size()));
  }
  return colours;
}

std::string PercentText(const Json& rate) {
  return rate.is_null() ? "-" : Significant(100 * rate.get<double>(), 3) + " %";
}

// That of the filters that most keys of the level are in.
std::string ColourOf(const Json& level, const Colours& colours) {
  std::string family;
  uint64_t most = 0;
  for (const Json& group : level["filters"]) {
    if (group["keys"].get<uint64_t>() <= most) continue;
    most = group["keys"].get<uint64_t>();
    family = group["family"].get<std::string>();
  }
  const auto colour = colours.find(family);
  return colour == colours.end() ? "c7" : colour->second;
}

Html RatesChart(const Json& family, const Colours& colours) {
  Json rows = family["levels"];
  if (rows.size() > 1) {
    rows.push_back(family);
    rows.back()["level"] = "all";
  }
  std::vector<Bar> bars;
  for (const Json& row : rows) {
    const Json& measured = row["measured_false_positive_rate"];
    const Json& promised = row["predicted_false_positive_rate"];
    Bar bar;
    bar.name = LevelName(row["level"]);
    bar.value = measured.is_null() ? 0 : measured.get<double>();
    bar.mark = promised.is_null() ? -1 : promised.get<double>();
    bar.text = measured.is_null() && promised.is_null()
                   ? "no filter, or none that was asked"
                   : PercentText(measured) + " measured, " + PercentText(promised) + " promised";
    bar.strong = row["level"] == "all";
    bar.colour = bar.strong ? "c7" : ColourOf(row, colours);
    bars.push_back(bar);
  }
  return BarChart("False-positive rates: the bar is measured, the line across it is promised",
                  {"level", "rate", ""}, bars);
}

Html LevelsTable(const Json& family) {
  Json rows = family["levels"];
  rows.push_back(family);
  rows.back()["level"] = "all";
  rows.back()["class"] = "strong";
  return HtmlTable(
      "Files and filters by level",
      {{"level", "", "level", Kind::kText, 0, LevelName},
       {"files", "files", "", Kind::kFixed, 0},
       {"files_without_filter", "no", "filter", Kind::kFixed, 0},
       {"keys", "keys", "", Kind::kFixed, 0},
       {"filter_bytes", "filter", "bytes", Kind::kFixed, 0},
       {"bits_per_key", "bits", "per key"},
       {"predicted_false_positive_rate", "promised", "rate, %", Kind::kPercent, 3},
       {"measured_false_positive_rate", "measured", "rate, %", Kind::kPercent, 3},
       {"files_per_missing_lookup", "files per", "lookup", Kind::kFixed, 2},
       {"passes_per_missing_lookup", "pass per", "1,000 missing", Kind::kFixed, 0, PerThousand}},
      rows);
}

Html Kinds(const Json& family) {
  Json rows = Json::array();
  for (const Json& level : family["levels"]) {
    for (Json row : level["filters"]) {
      row["level"] = level["level"];
      const Json& setting = row["setting"];
      const double least = setting.is_null() ? 0 : row["setting_min"].get<double>();
      const double most = setting.is_null() ? 0 : row["setting_max"].get<double>();
      const auto number = [](double value) {
        return Fixed(value, value == std::floor(value) ? 0 : 1);
      };
      row["settings"] = setting.is_null()
                            ? Json()
                            : Json(number(least) + (least == most ? "" : " to " + number(most)) +
                                   " " + setting.get<std::string>());
      rows.push_back(row);
    }
  }
  return HtmlTable("Kinds of filters by level",
                   {{"level", "", "level", Kind::kText, 0, LevelName},
                    {"family", "filter", "", Kind::kText},
                    {"settings", "setting", "", Kind::kText},
                    {"files", "files", "", Kind::kFixed, 0},
                    {"partitioned_files", "partitioned", "", Kind::kFixed, 0},
                    {"keys", "keys", "", Kind::kFixed, 0},
                    {"bytes", "filter", "bytes", Kind::kFixed, 0}},
                   rows);
}

std::string NameOfRange(const Json& kind) {
  return kind.value("kind", "") == "prefix" ? Filled("prefix of {length}", kind)
                                            : Counted(kind.value("length", uint64_t{0}), "number");
}

Html Ranges(const Json& family) {
  if (!family.contains("ranges") || family["ranges"].empty()) return {};
  Json rows = Json::array();
  for (const Json& kind : family["ranges"]) {
    rows.push_back(kind);
    rows.back()["name"] = NameOfRange(kind);
  }
  return Element("h3", "What an iterator over an empty range costs") +
         HtmlTable(
             "Ranges without a key, and prefixes that no key has, of iterators with an upper "
             "bound",
             {{"name", "range", "", Kind::kText},
              {"predicted_pass_rate", "promised", "rate, %", Kind::kPercent, 3},
              {"measured_pass_rate", "measured", "rate, %", Kind::kPercent, 3},
              {"passes_per_empty_range", "pass per", "1,000 ranges", Kind::kFixed, 0, PerThousand},
              {"expected_useless_reads_per_empty_range", "useless reads per", "1,000 ranges",
               Kind::kFixed, 0, PerThousand},
              {"useless_reads_per_empty_range_without_filters", "without filters, per",
               "1,000 ranges", Kind::kFixed, 0, PerThousand}},
             rows);
}

Html Problems(const Json& problems) {
  if (problems.empty()) return {};
  Html list;
  for (size_t i = 0; i < std::min(problems.size(), kMostProblems); i++) {
    list += Element("li", Shown(problems[i].get<std::string>()));
  }
  if (problems.size() > kMostProblems) {
    list += Element("li", "... and " + Thousands(problems.size() - kMostProblems) +
                              " more; rocksieve explain --json has all.");
  }
  return Element(
      "div", {{"class", "finding error"}},
      Element("h3", "Damaged") + Element("ul", list) +
          Element("p",
                  "A damaged filter loses no key: lookups read the file as if it had none, and a "
                  "compaction of it writes a new one; rocksieve inspect FILE.sst says more. A "
                  "damaged or missing file has to be restored, or the database repaired, in a "
                  "copy: ldb repair --db=COPY"));
}

Html Notes(const Json& family, const Json& predicted) {
  std::vector<std::string> notes;
  for (const Json& note : family["notes"]) notes.push_back(note.get<std::string>());
  if (predicted.is_object()) {
    std::set<std::string> said;  // above, as damage
    for (const Json& problem : family["problems"]) said.insert(problem.get<std::string>());
    for (const Json& warning : predicted["warnings"]) {
      if (said.insert(warning.get<std::string>()).second) notes.push_back(warning);
    }
  }
  Html list;
  for (size_t i = 0; i < std::min(notes.size(), kMostNotes); i++) {
    list += Element("li", Shown(notes[i] + "."));
  }
  return list.empty() ? list : Element("ul", {{"class", "notes"}}, list);
}

}  // namespace

std::string LevelName(const Json& level) {
  return level.is_number() ? "L" + std::to_string(level.get<int>()) : level.get<std::string>();
}

Html FamilySection(size_t number, const FamilyReport& family) {
  const Json& explained = family.explained;
  const std::string id = "cf-" + std::to_string(number);
  const std::vector<PictureFile> files = FilesOf(explained);
  const Colours colours = ColoursOf(family, files);
  Html html = Element(
      "h2", {{"id", id}},
      Html("Column family ") + Element("bdi", Shown(explained["name"].get<std::string>(), 200)));
  html += Element(
      "p", Counted(explained["files"], "file") + ", " + Counted(explained["keys"], "key") +
               Filled(", {filter_bytes} bytes of filters, {bits_per_key:.2} bits per key. Filter "
                      "policy of the OPTIONS file: {filter_policy}.",
                      explained));
  html += Problems(explained["problems"]);
  html += Element("h3", "The tree") + TreePicture(id + "-tree", files, colours);
  html += Element("h3", "What filters promise, and what they keep") +
          RatesChart(explained, colours) + LevelsTable(explained) + Kinds(explained);
  html += CostSection(id, family, colours) + Ranges(explained);
  html += Notes(explained, family.predicted);
  return Element("section", {{"aria-labelledby", id}}, html);
}

}  // namespace rocksieve::tools
