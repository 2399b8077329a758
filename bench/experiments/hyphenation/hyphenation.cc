// SPDX-License-Identifier: Apache-2.0
// The experiment "hyphenation". Sources: D. E. Knuth's use case of exceptions beside patterns
// ("The TeXbook", 1984, appendix H), which Bloom gave as the example of his filter: most words can
// be hyphenated by rules, the others are in a dictionary on disk ("Space/Time Trade-offs in Hash
// Coding with Allowable Errors", 1970).
#include <algorithm>
#include <filesystem>

#include "bench/experiments/frame/experiment.h"
#include "bench/experiments/frame/word_list.h"
#include "bench/experiments/hyphenation/measure.h"
#include "bench/experiments/hyphenation/published_run.h"
#include "support/chart.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using Kind = Column::Kind;

nlohmann::json RowOf(const HyphenationResult& result) {
  nlohmann::json row = {{"part", result.candidate},
                        {"set", result.candidate},
                        {"exact", result.exact},
                        {"observed_rate", result.observed_rate},
                        {"memory_bytes", result.memory_bytes},
                        {"lookups_saved", result.lookups_saved}};
  if (!result.exact) {
    row["rate"] = result.rate;
    row["expected_rate"] = result.expected_rate;
  }
  AddMean("initialisation_us", result.initialisation_us, &row);
  AddMean("lookup_ns", result.lookup_ns, &row);
  AddMean("run_ns", result.run_ns, &row);
  return row;
}

Table Present(const HyphenationResults& results, const HyphenationSettings& settings) {
  Table table;
  table.name = "hyphenation";
  table.title = "HYPHENATION";
  table.explanation =
      Thousands(results.words) + " words of wamerican-insane (" +
      Thousands(results.listed_exceptions) + " of them exceptions), " +
      Thousands(results.exceptions) + " exceptions of TeX's patterns, of which " +
      Thousands(results.changed_by_patterns) +
      " would be hyphenated otherwise by the patterns alone. A set of the exceptions is asked for "
      "each word; a hit sends the word to the exact table, and all but exceptions go to the "
      "patterns (libhyphen). Times of one thread, means of " +
      std::to_string(settings.repeats) +
      " repeats with half the width of the 95 % confidence interval (Student's t): "
      "initialisation, in microseconds; lookups in set and table, and the whole run with the "
      "patterns, in nanoseconds per word. Without any set: " +
      Significant(results.no_filter_ns.value, 3) + " +- " +
      Significant(results.no_filter_ns.half_width, 2) +
      " ns for a lookup in the exact table; the patterns alone: " +
      Significant(results.patterns_ns.value, 3) + " +- " +
      Significant(results.patterns_ns.half_width, 2) +
      " ns. Saved: words that did not have to go to the exact table.";
  table.columns = {{"set", "", "set", Kind::kText},
                   {"rate", "rate, %", "asked", Kind::kPercent, 3},
                   {"expected_rate", "", "expected", Kind::kPercent, 3},
                   {"observed_rate", "", "observed", Kind::kPercent, 3},
                   {"memory_bytes", "memory", "bytes", Kind::kFixed, 0},
                   {"lookups_saved", "saved", "%", Kind::kPercent, 4},
                   {"initialisation_us", "initiali-", "sation", Kind::kFixed, 1},
                   {"initialisation_us_half_width_95", "", "+-", Kind::kFixed, 1},
                   {"lookup_ns", "", "lookup", Kind::kFixed, 2},
                   {"lookup_ns_half_width_95", "", "+-", Kind::kFixed, 2},
                   {"run_ns", "whole", "run", Kind::kFixed, 1},
                   {"run_ns_half_width_95", "", "+-", Kind::kFixed, 1}};
  for (const HyphenationResult& result : results.results) table.rows.push_back(RowOf(result));
  return table;
}

using MeanOfResult = Mean HyphenationResult::*;

// A line for each candidate; those without a rate, a dashed one from end to end.
std::string Draw(const HyphenationResults& results, const char* title, const char* y_label,
                 MeanOfResult mean) {
  Chart chart;
  chart.title = title;
  chart.subtitle = Thousands(results.exceptions) + " exceptions, " + Thousands(results.words) +
                   " words; bars: 95 % confidence";
  chart.x_label = "false-positive rate asked for, percent";
  chart.y_label = y_label;
  chart.linear_y = true;
  chart.x_min = 0;
  for (const HyphenationResult& result : results.results) {
    chart.x_max = std::max(chart.x_max, 100 * result.rate);
  }
  for (const double tick : {1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0}) {
    chart.ticks.push_back({tick, Fixed(tick, 0), ""});
  }
  for (const HyphenationResult& result : results.results) {
    if (chart.series.empty() || chart.series.back().name != result.candidate) {
      chart.series.push_back({result.candidate, {}, result.exact});
    }
    const Mean& value = result.*mean;
    auto& points = chart.series.back().points;
    points.push_back({100 * result.rate, value.value, value.half_width});
    if (result.exact) points.push_back({chart.x_max, value.value, value.half_width});
  }
  return SvgDrawing(chart);
}

// Their names: PREFIX, then hyphenation_ and what is shown.
std::vector<Picture> HyphenationPictures(const HyphenationResults& results,
                                         const std::string& prefix) {
  std::vector<Picture> pictures;
  pictures.push_back({prefix + "hyphenation_initialisation",
                      Draw(results, "Initialisation: the exceptions into the set", "microseconds",
                           &HyphenationResult::initialisation_us)});
  pictures.push_back({prefix + "hyphenation_lookups",
                      Draw(results, "Lookups: the set, and for its hits the exact table",
                           "nanoseconds per word", &HyphenationResult::lookup_ns)});
  pictures.push_back(
      {prefix + "hyphenation_run", Draw(results, "Whole run: lookups and patterns",
                                        "nanoseconds per word", &HyphenationResult::run_ns)});
  return pictures;
}

}  // namespace

Outcome MeasureHyphenation(Run* run) {
  HyphenationSettings settings;
  settings.rates = {0.01, 0.02, 0.03, 0.05, 0.07, 0.10, 0.15, 0.20};
  if (run->settings.quick) {
    settings.rates = {0.01, 0.03, 0.20};
    settings.repeats = 10;
    settings.lookup_stride = 8;
    settings.hyphenation_stride = 64;
    settings.published_stride = 256;
  }
  const std::string directory = run->settings.directory + "/hyphenation";
  std::filesystem::create_directories(directory);
  const Patterns patterns(directory);
  const std::vector<std::string> words = InsaneWords();
  const std::vector<HyphenatedWord> exceptions = AmericanExceptions();
  const HyphenationResults ours = MeasureSets(settings, words, exceptions, patterns, run);
  Outcome outcome;
  outcome.tables.push_back(Present(ours, settings));
  outcome.pictures = HyphenationPictures(ours, "");
  if (!run->settings.npm_directory.empty()) {
    const HyphenationResults theirs = MeasurePublished(settings, words, exceptions, run);
    outcome.tables.push_back(PresentPublished(settings, theirs, ours));
    for (Picture& picture : HyphenationPictures(theirs, "published_")) {
      outcome.pictures.push_back(std::move(picture));
    }
  }
  return outcome;
}

}  // namespace rocksieve::experiments
