// SPDX-License-Identifier: Apache-2.0
// The experiment "hyphenation". Sources: D. E. Knuth's use case of exceptions beside patterns
// ("The TeXbook", 1984, appendix H), which Bloom gave as the example of his filter: most words can
// be hyphenated by rules, the others are in a dictionary on disk ("Space/Time Trade-offs in Hash
// Coding with Allowable Errors", 1970).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "bench/experiments/experiment.h"
#include "bench/experiments/hyphenation.h"
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
                        {"lookups_saved", result.lookups_saved},
                        {"lost", result.lost}};
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

// The npm packages of the published run, on our lists, beside our figures: which of ours is
// compared with which of theirs.
constexpr std::pair<const char*, const char*> kOurs[] = {{"npm Map", "Abseil's hash table"},
                                                         {"npm BloomFilter", "Bloom filter"},
                                                         {"npm CuckooFilter", "cuckoo filter"}};

std::string WithHyphens(const HyphenatedWord& word) {
  std::string text;
  for (size_t i = 0; i < word.word.size(); i++) {
    text += word.word[i];
    if (word.points >> i & 1) text += '-';
  }
  return text;
}

HyphenationResult ResultOf(const nlohmann::json& row) {
  HyphenationResult result;
  result.candidate = "npm " + row.at("set").get<std::string>();
  result.exact = row.at("exact");
  result.rate = row.at("rate");
  result.observed_rate = row.at("observed_rate");
  result.lost = row.at("lost_exceptions");
  result.initialisation_us = MeanOf(row.at("initialisation_us").get<std::vector<double>>());
  result.lookup_ns = MeanOf(row.at("lookup_ns").get<std::vector<double>>());
  result.run_ns = MeanOf(row.at("run_ns").get<std::vector<double>>());
  return result;
}

const HyphenationResult* OursFor(const HyphenationResult& theirs, const HyphenationResults& ours) {
  for (const auto& [their_name, our_name] : kOurs) {
    for (const HyphenationResult& result : ours.results) {
      if (theirs.candidate == their_name && result.candidate == our_name &&
          theirs.rate == result.rate) {
        return &result;
      }
    }
  }
  return nullptr;
}

HyphenationResults MeasurePublished(const HyphenationSettings& settings,
                                    const std::vector<std::string>& words,
                                    const std::vector<HyphenatedWord>& exceptions, Run* run) {
  run->Begin("the published packages, in Node");
  std::string some_words, hyphenated;
  for (size_t i = 0; i < words.size(); i += settings.published_stride) {
    some_words += words[i] + "\n";
  }
  for (const HyphenatedWord& exception : exceptions) hyphenated += WithHyphens(exception) + "\n";
  std::string rates;
  for (const double rate : settings.rates) {
    rates += (rates.empty() ? "" : ",") + Shortest(rate);
  }
  const std::string directory = run->settings.directory + "/hyphenation";
  const std::string output = directory + "/published.json";
  bench::WriteFile(directory + "/words.txt", some_words);
  bench::WriteFile(directory + "/exceptions.txt", hyphenated);
  bench::RunCommand(std::string("node '") + ROCKSIEVE_EXPERIMENTS_SOURCE +
                    "/published/measure.js' '" + run->settings.npm_directory + "' '" + directory +
                    "/words.txt' '" + directory + "/exceptions.txt' " + rates + " " +
                    std::to_string(settings.repeats) + " > '" + output + "'");
  std::ifstream file(output);
  const nlohmann::json report = nlohmann::json::parse(file);
  HyphenationResults results;
  results.words = report.at("words");
  results.exceptions = report.at("exceptions");
  for (const nlohmann::json& row : report.at("results")) results.results.push_back(ResultOf(row));
  return results;
}

Table PresentPublished(const HyphenationSettings& settings, const HyphenationResults& published,
                       const HyphenationResults& ours) {
  Table table;
  table.name = "hyphenation_published";
  table.title = "HYPHENATION, THE PUBLISHED PACKAGES";
  table.explanation =
      "hypher 0.2.5 with hyphenation.en-us, and the filters of bloom-filters 3.0.4, in Node, on "
      "the same exceptions and every " +
      Thousands(settings.published_stride) + "th word (" + Thousands(published.words) +
      "); CPU time of the process, means of " + std::to_string(settings.repeats) +
      " repeats after one that does not count, with half the width of the 95 % confidence "
      "interval; beside each time ours, from the table above, with the same unit (initialisation: "
      "microseconds, else nanoseconds per word). Lost: exceptions that the set does not find, and "
      "that the patterns then hyphenate.";
  table.columns = {{"set", "", "set", Kind::kText},
                   {"rate", "rate, %", "asked", Kind::kPercent, 3},
                   {"observed_rate", "", "observed", Kind::kPercent, 3},
                   {"lost", "excep-", "lost", Kind::kFixed, 0},
                   {"initialisation_us", "initiali-", "sation", Kind::kFixed, 0},
                   {"initialisation_us_half_width_95", "", "+-", Kind::kFixed, 0},
                   {"our_initialisation_us", "", "ours", Kind::kFixed, 0},
                   {"lookup_ns", "", "lookup", Kind::kFixed, 0},
                   {"lookup_ns_half_width_95", "", "+-", Kind::kFixed, 0},
                   {"our_lookup_ns", "", "ours", Kind::kFixed, 0},
                   {"run_ns", "whole", "run", Kind::kFixed, 0},
                   {"run_ns_half_width_95", "", "+-", Kind::kFixed, 0},
                   {"our_run_ns", "", "ours", Kind::kFixed, 0}};
  for (const HyphenationResult& result : published.results) {
    nlohmann::json row = RowOf(result);
    if (const HyphenationResult* its_ours = OursFor(result, ours)) {
      row["our_initialisation_us"] = its_ours->initialisation_us.value;
      row["our_lookup_ns"] = its_ours->lookup_ns.value;
      row["our_run_ns"] = its_ours->run_ns.value;
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// A line for each candidate; those without a rate, a dashed one from end to end.
Chart Draw(const HyphenationResults& results, const char* title, const char* y_label,
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
  return chart;
}

// Their names: PREFIX, then hyphenation_ and what is shown.
void DrawAll(const HyphenationResults& results, const std::string& prefix, Run* run) {
  run->Draw(prefix + "hyphenation_initialisation",
            Draw(results, "Initialisation: the exceptions into the set", "microseconds",
                 &HyphenationResult::initialisation_us));
  run->Draw(prefix + "hyphenation_lookups",
            Draw(results, "Lookups: the set, and for its hits the exact table",
                 "nanoseconds per word", &HyphenationResult::lookup_ns));
  run->Draw(prefix + "hyphenation_run", Draw(results, "Whole run: lookups and patterns",
                                             "nanoseconds per word", &HyphenationResult::run_ns));
}

}  // namespace

void MeasureHyphenation(Run* run) {
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
  run->Add(Present(ours, settings));
  DrawAll(ours, "", run);
  if (run->settings.npm_directory.empty()) return;
  const HyphenationResults theirs = MeasurePublished(settings, words, exceptions, run);
  run->Add(PresentPublished(settings, theirs, ours));
  DrawAll(theirs, "published_", run);
}

}  // namespace rocksieve::experiments
