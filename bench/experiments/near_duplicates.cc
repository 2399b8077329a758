// SPDX-License-Identifier: Apache-2.0
// The experiment "near_duplicates": which of many sets are similar? MinHash signatures and
// locality-sensitive hashing against the comparison of all pairs; what theory says of errors,
// recall and precision against what is seen. Source: Leskovec, Rajaraman, Ullman, "Mining of
// massive datasets", chapter 3.
#include <cmath>
#include <filesystem>

#include "bench/experiments/experiment.h"
#include "bench/experiments/near_search.h"
#include "bench/experiments/statistics.h"
#include "support/table.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using Kind = Column::Kind;

// Short: a heading is as wide as the first column.
std::string HeadingOf(const CorpusRuns& runs) {
  return runs.name + ", " + Thousands(runs.similar) + " similar pairs";
}

// What the corpora are, for the explanation.
std::string Describe(const std::vector<CorpusRuns>& all) {
  std::string text;
  for (const CorpusRuns& runs : all) {
    text += (text.empty() ? "" : "; ") + runs.name + ": " + Thousands(runs.sets) + " " + runs.about;
  }
  return text + ".";
}

const char* NameOf(MinHashMethod method) {
  return method == MinHashMethod::kIndependent ? "independent" : "one permutation";
}

// Null, which tables show as "-", where there is nothing to divide by.
nlohmann::json Ratio(double part, double whole) {
  return whole > 0 ? nlohmann::json(part / whole) : nlohmann::json();
}

nlohmann::json ExactRow(const CorpusRuns& runs) {
  return {{"group", HeadingOf(runs)},
          {"corpus", runs.name},
          {"way", "all pairs, exactly"},
          {"looked_at", runs.truth.compared},
          {"found", runs.similar},
          {"recall", Ratio(runs.similar, runs.similar)},
          {"search_ms", 1e3 * runs.truth.cpu_seconds}};
}

nlohmann::json SearchRow(const CorpusRuns& runs, const SearchRuns& search) {
  const auto seeds = static_cast<double>(search.seeds);
  const auto similar = static_cast<double>(runs.similar);
  const LshBanding& banding = search.options.banding;
  nlohmann::json row = {
      {"group", HeadingOf(runs)},
      {"corpus", runs.name},
      {"part", std::to_string(banding.bands) + " x " + std::to_string(banding.rows)},
      {"way", std::to_string(banding.bands) + " x " + std::to_string(banding.rows) + ", " +
                  NameOf(search.options.signature.method)},
      {"looked_at", static_cast<double>(search.candidates) / seeds},
      {"found", static_cast<double>(search.found) / seeds},
      {"recall", Ratio(static_cast<double>(search.found), similar * seeds)},
      {"expected_recall", Ratio(search.expected.similar, similar)},
      {"precision",
       Ratio(static_cast<double>(search.found), static_cast<double>(search.candidates))},
      {"expected_precision", Ratio(search.expected.similar, search.expected.all)},
      {"estimate_precision",
       Ratio(static_cast<double>(search.found_by_estimate - search.wrong_by_estimate),
             static_cast<double>(search.found_by_estimate))},
      {"estimate_recall",
       Ratio(static_cast<double>(search.found_by_estimate - search.wrong_by_estimate),
             similar * seeds)},
      {"signing_ms", 1e3 * search.signing_seconds / seeds},
      {"search_ms", 1e3 * search.search_seconds / seeds}};
  if (!search.recalls.empty()) row["recall_half_width_95"] = MeanOf(search.recalls).half_width;
  return row;
}

// What each way finds, and what it takes.
Table SearchTable(const std::vector<CorpusRuns>& all, const RunSettings& settings) {
  Table table;
  table.name = "near_duplicates";
  table.title = "NEAR-DUPLICATES";
  table.explanation =
      "Pairs of sets with a Jaccard similarity of at least " + Shortest(settings.threshold) +
      ". Signatures have " + std::to_string(settings.places) +
      " places, of independent hash functions or of one permutation, and are cut into bands x "
      "rows: pairs that are equal in a band are looked at, exactly. Means of " +
      std::to_string(settings.seeds) +
      " seeds, recall with half of its 95 % interval. Expected: by 1 - (1 - J^rows)^bands for the "
      "similarities J that the pairs have. Precision: similar ones among those looked at. By "
      "estimate: if the signatures are compared instead of the sets. Milliseconds of CPU: "
      "signatures, search. Sets: " +
      Describe(all);
  table.columns = {{"way", "", "way", Kind::kText},
                   {"looked_at", "", "looked at", Kind::kFixed, 0},
                   {"found", "", "found", Kind::kFixed, 0},
                   {"recall", "recall", "%", Kind::kPercent, 3},
                   {"recall_half_width_95", "", "+-", Kind::kPercent, 2},
                   {"expected_recall", "ex-", "pected", Kind::kPercent, 3},
                   {"precision", "preci-", "sion, %", Kind::kPercent, 3},
                   {"expected_precision", "ex-", "pected", Kind::kPercent, 3},
                   {"estimate_recall", "by esti-", "mate", Kind::kPercent, 3},
                   {"estimate_precision", "preci-", "sion", Kind::kPercent, 3},
                   {"signing_ms", "sign,", "ms", Kind::kFixed, 1},
                   {"search_ms", "search,", "ms", Kind::kFixed, 1}};
  for (const CorpusRuns& runs : all) {
    table.rows.push_back(ExactRow(runs));
    for (const SearchRuns& search : runs.searches) table.rows.push_back(SearchRow(runs, search));
  }
  return table;
}

// How far the estimates are from the truth, and which pairs meet, by similarity.
Table EstimateTable(const std::vector<CorpusRuns>& all, const RunSettings& settings) {
  Table table;
  table.name = "min_hash_estimates";
  table.title = "ESTIMATES OF MINHASH";
  table.explanation =
      "The same pairs by their similarity: the estimates' mean error and its root mean square, "
      "which for independent hash functions should be sqrt(J (1 - J) / " +
      std::to_string(settings.places) +
      "), and the share of pairs that share a band, beside 1 - (1 - J^rows)^bands. Of few pairs "
      "the figures scatter, since all share the hash functions.";
  table.columns = {{"way", "", "signature", Kind::kText},
                   {"similarity", "simi-", "larity", Kind::kText},
                   {"pairs", "", "pairs", Kind::kFixed, 0},
                   {"mean_error", "mean", "error", Kind::kFixed, 4},
                   {"rms_error", "", "rms", Kind::kFixed, 4},
                   {"expected_rms_error", "ex-", "pected", Kind::kFixed, 4},
                   {"within_003", "within", "0.03, %", Kind::kPercent, 3},
                   {"met", "meet,", "%", Kind::kPercent, 3},
                   {"expected_met", "ex-", "pected", Kind::kPercent, 3}};
  for (const CorpusRuns& runs : all) {
    for (const SearchRuns& search : runs.searches) {
      // The estimates are the same for all bandings: those of the first one.
      if (search.options.banding.bands != runs.searches[0].options.banding.bands) continue;
      for (size_t i = 0; i < search.bins.size(); i++) {
        const BinCounts& bin = search.bins[i];
        if (bin.pairs == 0) continue;
        const auto pairs = static_cast<double>(bin.pairs);
        const LshBanding& banding = search.options.banding;
        table.rows.push_back({{"group", runs.name + ", " + std::to_string(banding.bands) + " x " +
                                            std::to_string(banding.rows)},
                              {"part", NameOf(search.options.signature.method)},
                              {"corpus", runs.name},
                              {"way", NameOf(search.options.signature.method)},
                              {"similarity", Fixed(0.1 * static_cast<double>(i), 1) + " to " +
                                                 Fixed(0.1 * static_cast<double>(i + 1), 1)},
                              {"pairs", bin.pairs / search.seeds},
                              {"mean_error", bin.error / pairs},
                              {"rms_error", std::sqrt(bin.squared_error / pairs)},
                              {"expected_rms_error", std::sqrt(bin.expected_squared / pairs)},
                              {"within_003", static_cast<double>(bin.within_003) / pairs},
                              {"met", static_cast<double>(bin.met) / pairs},
                              {"expected_met", bin.expected_met / pairs}});
      }
    }
  }
  return table;
}

// The S: the share of pairs that meet, over their similarity, as expected and as seen, with
// independent hash functions and the first banding.
Chart MeetingPicture(const std::vector<CorpusRuns>& all) {
  const LshBanding banding = all.at(0).searches.at(0).options.banding;
  Chart chart;
  chart.title = "Pairs that share a band of their signatures";
  chart.subtitle = std::to_string(banding.bands) + " bands of " + std::to_string(banding.rows) +
                   " rows; expected: 1 - (1 - J^rows)^bands";
  chart.x_label = "Jaccard similarity";
  chart.y_label = "percent of the pairs";
  chart.linear_y = true;
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    chart.ticks.push_back({0.1 * tenth, Fixed(0.1 * tenth, 1), ""});
  }
  ChartSeries expected{"expected", {}, true};
  for (int percent = 1; percent <= 100; percent++) {
    expected.points.push_back({0.01 * percent, 100 * banding.CandidateProbability(0.01 * percent)});
  }
  chart.series.push_back(expected);
  for (const CorpusRuns& runs : all) {
    ChartSeries seen{runs.name, {}, false};
    for (size_t i = 1; i < kBins; i++) {
      const BinCounts& bin = runs.searches.at(0).bins[i];
      if (bin.met == 0) continue;
      const auto pairs = static_cast<double>(bin.pairs);
      seen.points.push_back({bin.similarity / pairs, 100 * static_cast<double>(bin.met) / pairs});
    }
    chart.series.push_back(seen);
  }
  return chart;
}

// As published for pairs of MovieLens users.
constexpr double kThreshold = 0.6;
constexpr uint64_t kPlaces = 128;

void Check(const CorpusRuns& runs, Run* run) {
  if (runs.truth.compared == 0) {
    run->Fail("near duplicates: there are no " + runs.about);
  }
  for (const SearchRuns& search : runs.searches) {
    if (search.options.signature.method != MinHashMethod::kIndependent || runs.similar == 0) {
      continue;
    }
    // The seeds' results scatter, since all pairs share the hash functions: their mean must be
    // where theory says, but for three times its confidence interval.
    const Mean recall = MeanOf(search.recalls);
    const double expected = search.expected.similar / static_cast<double>(runs.similar);
    if (std::abs(recall.value - expected) > 3 * recall.half_width + 0.02) {
      run->Fail("near duplicates, " + runs.name + ": recall is " + Significant(recall.value, 3) +
                ", expected " + Significant(expected, 3));
    }
  }
}

}  // namespace

void MeasureNearDuplicates(Run* run) {
  const std::string directory = run->settings.directory + "/near_duplicates";
  std::filesystem::create_directories(directory);
  RunSettings settings;
  settings.threshold = kThreshold;
  settings.places = kPlaces;
  settings.seeds = run->settings.quick ? 5 : 10;
  const size_t most_summaries = run->settings.quick ? 1000 : 10000;
  std::vector<CorpusRuns> all;
  for (const Corpus& corpus : {InstalledDescriptions(directory), InstalledFiles(),
                               AvailableSummaries(directory, most_summaries)}) {
    run->Begin(corpus.name);
    all.push_back(RunSearches(corpus, settings));
    Check(all.back(), run);
  }
  run->Add(SearchTable(all, settings));
  run->Add(EstimateTable(all, settings));
  run->Draw("near_duplicates_meet", MeetingPicture(all));
}

}  // namespace rocksieve::experiments
