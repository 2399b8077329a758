// SPDX-License-Identifier: Apache-2.0
#include "tools/report/cost_section.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "support/text.h"
#include "tools/explain/explain.h"

namespace rocksieve::tools {
namespace {

using Kind = Column::Kind;

constexpr char kReads[] = "expected_useless_reads_per_missing_lookup";

// Of 1,000 lookups.
std::string Reads(double per_thousand) {
  return Significant(per_thousand, per_thousand >= 100 ? 4 : 3);
}
std::string ReadsPerThousand(const Json& reads) { return Reads(1000 * reads.get<double>()); }

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
    const double reads = HeightAt(series, bits);
    if (reads < 0) continue;
    const auto colour = colours.find(series.name);
    bars.push_back(
        {series.name, reads, Reads(reads), colour == colours.end() ? "c7" : colour->second});
  }
  std::stable_sort(bars.begin(), bars.end(),
                   [](const Bar& a, const Bar& b) { return a.value > b.value; });
  if (bars.empty()) return {};
  Html html;
  const double now = 1000 * family.predicted["now"][kReads].get<double>();
  if (now > kFarBeyond * bars.front().value) {
    html += Element("p",
                    "Now: " + Reads(now) + " useless reads, far beyond the scale of this picture.");
  } else if (now_bits == bits) {
    bars.insert(bars.begin(), {"now", now, Reads(now), "c7", 0, -1, true});
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
  std::deque<std::string> texts;  // of the columns
  for (const auto& [family, reads] : budgets[0][kReads].items()) {
    columns.push_back({texts.emplace_back("/" + std::string(kReads) + "/" + family),
                       texts.emplace_back(family), "", Kind::kFixed, 0, ReadsPerThousand});
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

}  // namespace

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

}  // namespace rocksieve::tools
