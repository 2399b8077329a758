// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/hyphenation/published_run.h"

#include <fstream>
#include <stdexcept>

#include "bench/experiments/frame/program.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using Kind = Column::Kind;

// What of ours is compared with which of theirs.
constexpr std::pair<const char*, const char*> kOurs[] = {{"npm Map", "hash table"},
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

template <typename Lines>
std::string WriteLines(const std::string& path, const Lines& lines) {
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << "\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
  return path;
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

}  // namespace

HyphenationResults MeasurePublished(const HyphenationSettings& settings,
                                    const std::vector<std::string>& words,
                                    const std::vector<HyphenatedWord>& exceptions, Run* run) {
  run->progress("the published packages, in Node");
  std::vector<std::string> some_words, hyphenated;
  for (size_t i = 0; i < words.size(); i += settings.published_stride) {
    some_words.push_back(words[i]);
  }
  for (const HyphenatedWord& exception : exceptions) hyphenated.push_back(WithHyphens(exception));
  std::string rates;
  for (const double rate : settings.rates) {
    rates += (rates.empty() ? "" : ",") + Shortest(rate);
  }
  const std::string directory = run->settings.directory + "/hyphenation";
  const std::string output = directory + "/published.json";
  RunProgram(
      {"node", std::string(ROCKSIEVE_EXPERIMENTS_SOURCE) + "/hyphenation/published/measure.js",
       run->settings.npm_directory, WriteLines(directory + "/words.txt", some_words),
       WriteLines(directory + "/exceptions.txt", hyphenated), rates,
       std::to_string(settings.repeats)},
      output);
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
      "the "
      "same exceptions and every " +
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
    nlohmann::json row = {{"part", result.candidate},
                          {"set", result.candidate},
                          {"exact", result.exact},
                          {"observed_rate", result.observed_rate},
                          {"lost", result.lost}};
    if (!result.exact) row["rate"] = result.rate;
    AddMean("initialisation_us", result.initialisation_us, &row);
    AddMean("lookup_ns", result.lookup_ns, &row);
    AddMean("run_ns", result.run_ns, &row);
    if (const HyphenationResult* its_ours = OursFor(result, ours)) {
      row["our_initialisation_us"] = its_ours->initialisation_us.value;
      row["our_lookup_ns"] = its_ours->lookup_ns.value;
      row["our_run_ns"] = its_ours->run_ns.value;
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace rocksieve::experiments
