// SPDX-License-Identifier: Apache-2.0
#include "tools/report/page.h"

#include <algorithm>
#include <set>
#include <vector>

#include "support/text.h"
#include "tools/explain/explain.h"
#include "tools/whatif/whatif.h"

namespace rocksieve::tools {
namespace {

using Kind = Column::Kind;

constexpr char kReads[] = "expected_useless_reads_per_missing_lookup";

Html Sum(const Json& explained) {
  if (explained[kReads].is_null()) return {};
  Json numbers = explained;
  for (const char* field : {kReads, "predicted_useless_reads_per_missing_lookup",
                            "useless_reads_per_missing_lookup_without_filters"}) {
    if (numbers[field].is_number()) numbers[field] = ReadsPerThousand(numbers[field]);
  }
  for (Json& end : numbers["expected_useless_reads_95"]) {
    if (end.is_number()) end = ReadsPerThousand(end);
  }
  const bool at_most = explained["expected_useless_reads_is_upper_bound"].get<bool>();
  std::string words = "1,000 lookups of missing keys read ";
  words += at_most ? "at most " : "";
  return Element("p", words + UselessReadsWords(numbers));
}

// The memory in which policies are compared, in bits per entry: that of today, or what `whatif`
// advises for if there are hardly any filters.
double BitsToCompareAt(const Json& predicted) {
  constexpr double kFewBits = 4, kUsualBits = 10;
  const double now = predicted["now"]["filter_bits_per_entry"].get<double>();
  return now < kFewBits ? kUsualBits : now;
}

Html EqualMemoryChart(const FamilyReport& family, const Colours& colours) {
  const Chart& chart = *family.chart;
  const double bits = BitsToCompareAt(family.predicted);
  const double now_bits = family.predicted["now"]["filter_bits_per_entry"].get<double>();
  constexpr double kFarBeyond = 10;  // other bars could not be seen beside it
  std::vector<Bar> bars;
  for (const ChartSeries& series : chart.series) {
    const double reads = HeightAt(series, bits) / 1000;
    if (reads < 0) continue;
    bars.push_back({series.name, reads, ReadsPerThousand(reads), ColourOf(series.name, colours)});
  }
  std::stable_sort(bars.begin(), bars.end(),
                   [](const Bar& a, const Bar& b) { return a.value > b.value; });
  if (bars.empty()) return {};
  Html html;
  const double now = family.predicted["now"][kReads].get<double>();
  if (now > kFarBeyond * bars.front().value) {
    html += Element("p",
                    "Now: " + ReadsPerThousand(now) +
                        " useless reads, far beyond the scale of this picture.");
  } else if (now_bits == bits) {
    bars.insert(bars.begin(), {"now", now, ReadsPerThousand(now), "c7", 0, -1, true});
  }
  return html + BarChart(
                    "Useless reads per 1,000 missing keys, predicted, all policies in the same "
                    "memory: " +
                        Fixed(bits, 2) + " bits per entry",
                    {"policy", "reads", ""}, bars);
}

Html Legend(const Chart& chart) {
  Html entries;
  for (size_t i = 0; i < chart.series.size(); i++) {
    Attributes line = {{"class", ClassOfSeries(i)},
                       {"y1", "8"},
                       {"x2", "30"},
                       {"y2", "8"},
                       {"stroke-width", "2.5"}};
    if (chart.series[i].dashed) line.emplace_back("stroke-dasharray", "7 4");
    entries += Element("li", Element("svg",
                                     {{"class", "swatch wide"},
                                      {"viewBox", "0 0 30 16"},
                                      {"aria-hidden", "true"},
                                      {"focusable", "false"}},
                                     EmptyElement("line", line)) +
                                 " " + Shown(chart.series[i].name));
  }
  for (size_t i = 0; i < chart.marks.size(); i++) {
    entries += Element("li", Element("b", {{"class", "number"}}, std::to_string(i + 1)) + " " +
                                 Shown(chart.marks[i].name));
  }
  return Element("ul", {{"class", "legend"}}, entries);
}

// Twice, since letters must not shrink with the screen; one of them is shown.
Html Curves(const std::string& id, const Chart& chart) {
  PageDrawing wide;
  wide.id = id + "-curves";
  wide.width = 960;
  wide.height = 440;
  wide.description = Shown(chart.subtitle) + ". To the right: " + chart.x_label +
                     ". Up: " + chart.y_label + ". The table of budgets has the numbers.";
  PageDrawing narrow = wide;
  narrow.id += "-narrow";
  narrow.width = 340;
  narrow.height = 320;
  narrow.second_lines = false;
  return Element(
      "figure", {{"class", "curves"}},
      Element("p", {{"class", "soft"}}, chart.y_label) +
          Element("div", {{"class", "on-wide"}}, Html::OfMarkup(SvgForPage(chart, wide))) +
          Element("div", {{"class", "on-narrow"}}, Html::OfMarkup(SvgForPage(chart, narrow))) +
          Element("p", {{"class", "soft below"}}, chart.x_label) + Legend(chart) +
          Element("figcaption",
                  "Each family of filters with more and less memory, on this tree. The "
                  "scale upwards is logarithmic."));
}

Html BudgetTable(const Json& budgets) {
  if (budgets.empty()) return {};
  std::vector<Column> columns = {{"filter_bits_per_entry", "bits per", "entry", Kind::kFixed, 0},
                                 {"filter_bytes", "filter", "bytes", Kind::kFixed, 0}};
  for (const auto& [family, reads] : budgets[0][kReads].items()) {
    columns.push_back({"/" + std::string(kReads) + "/" + family, family, "", Kind::kFixed, 0,
                       ReadsPerThousand});
  }
  return HtmlTable("Useless reads per 1,000 missing keys, each family in the same memory", columns,
                   budgets);
}

Html PolicyTable(const Json& predicted) {
  if (predicted["policies"].empty()) return {};
  Json rows = Json::array({predicted["now"]});
  rows[0]["spec"] = "now";
  for (const Json& policy : predicted["policies"]) rows.push_back(policy);
  const auto seconds = [](const Json& value) { return Significant(value.get<double>(), 3); };
  return HtmlTable(
      "Policies that were asked for",
      {{"spec", "policy", "", Kind::kText},
       {"filter_bytes", "filter", "bytes", Kind::kFixed, 0},
       {"filter_bits_per_entry", "bits per", "entry"},
       {kReads, "useless reads per", "1,000 missing keys", Kind::kFixed, 0, ReadsPerThousand},
       {"build_seconds", "build,", "s", Kind::kFixed, 0, seconds},
       {"probe_nanoseconds_per_missing_lookup", "probes, ns", "per missing key", Kind::kFixed, 0}},
      rows);
}

Html Advice(const Json& advice) {
  return Element("p", {{"class", "advice"}},
                 Element("b", advice["spec"].is_null() ? "Advice: " : "Recommended: ") +
                     Shown(advice["reason"].get<std::string>()));
}

Html CostSection(const std::string& id, const FamilyReport& family, const Colours& colours) {
  Html html = Element("h3", "What a lookup of a missing key costs") + Sum(family.explained);
  if (!family.why_not.empty()) {
    html += Element("p", "What other policies would do cannot be told: " + Shown(family.why_not));
  }
  if (!family.predicted.is_object() || !family.chart) return html;
  html += Element("h3", "What it would cost with other policies") +
          Advice(family.predicted["recommendation"]) + EqualMemoryChart(family, colours) +
          PolicyTable(family.predicted) + Curves(id, *family.chart) +
          BudgetTable(family.predicted["budgets"]);
  return html;
}

constexpr size_t kMostProblems = 20, kMostNotes = 50;

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
std::string ColourOfLevel(const Json& level, const Colours& colours) {
  std::string family;
  uint64_t most = 0;
  for (const Json& group : level["filters"]) {
    if (group["keys"].get<uint64_t>() <= most) continue;
    most = group["keys"].get<uint64_t>();
    family = group["family"].get<std::string>();
  }
  return ColourOf(family, colours);
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
    bar.colour = bar.strong ? "c7" : ColourOfLevel(row, colours);
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
      row["settings"] = SettingOf(row);
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
  return Element("div", {{"class", "finding error"}},
                 Element("h3", "Damaged") + Element("ul", list) + Element("p", kDamageRemedy));
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
