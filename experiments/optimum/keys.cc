#include <rocksieve/dynamic/bloom_filter.h>

#include <cmath>

#include "experiments/optimum/tables.h"
#include "support/chart.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using Kind = Column::Kind;

constexpr double kRate = 1e-4;
constexpr int kPercents[] = {50, 75, 90, 100, 110, 125, 150, 175, 200};

}  // namespace

Table MeasureKeys(const OptimumInput& input, Run* run) {
  const uint64_t planned = input.keys.size();
  const BloomFilterOptions options = BloomFilterOptions::ForKeys(planned, kRate);
  Table table;
  table.name = "optimum_keys";
  table.title = "NUMBER OF KEYS";
  table.explanation =
      "A Bloom filter for " + Thousands(planned) + " keys at 0.01 % (" + Thousands(options.bits) +
      " bits, " + std::to_string(options.hashes) +
      " probes), filled with more and more words; rates in percent, as above. By the formula n = "
      "-m / k ln(1 - p^(1/k)) it holds " +
      Thousands(MostBloomKeys(options.bits, options.hashes, kRate)) + " keys at its rate.";
  table.columns = {{"keys", "", "keys", Kind::kFixed, 0},
                   {"percent", "of the", "plan, %", Kind::kFixed, 0},
                   {"fill", "bits set", "%", Kind::kPercent, 3},
                   {"formula", "", "formula", Kind::kPercent, 3},
                   {"words_rate", "", "words", Kind::kPercent, 3},
                   {"random_rate", "", "random", Kind::kPercent, 3},
                   {"random_half_width_95", "", "+-", Kind::kPercent, 2}};
  BloomFilter filter(options);
  uint64_t added = 0;
  for (const int percent : kPercents) {
    run->progress(std::to_string(percent) + " % of the keys");
    for (const uint64_t end = planned * static_cast<uint64_t>(percent) / 100; added < end;
         added++) {
      filter.Add(added < planned ? input.keys[added] : input.other_keys.at(added - planned));
    }
    const CountedRate words = CountWords(filter, input.missing);
    const CountedRate random = CountRandom(filter, input.missing);
    const double formula = BloomFalsePositiveRate(options.bits, options.hashes, added);
    Check(Thousands(added) + " keys", random, formula, run);
    table.rows.push_back({{"keys", added},
                          {"percent", percent},
                          {"fill", filter.FillRatio()},
                          {"formula", formula},
                          {"words_rate", words.Rate()},
                          {"random_rate", random.Rate()},
                          {"random_half_width_95", random.HalfWidth95()}});
  }
  return table;
}

Picture KeysPicture(const Table& keys) {
  Chart chart;
  chart.title = "False positives against keys";
  chart.subtitle = "Bloom filter, made for 0.01 % at 100 percent; bars: 95 % confidence";
  chart.x_label = "keys, percent of what it was made for";
  chart.y_label = "rate of false positives, percent";
  chart.x_min = kPercents[0];
  chart.x_max = *std::rbegin(kPercents);
  ChartSeries formula{"formula", {}, true}, counted{"counted, random keys", {}, false};
  for (const nlohmann::json& row : keys.rows) {
    const double x = row["percent"];
    chart.ticks.push_back({x, Fixed(x, 0), ""});
    formula.points.push_back({x, 100 * row["formula"].get<double>()});
    counted.points.push_back({x, 100 * row["random_rate"].get<double>(),
                              100 * row["random_half_width_95"].get<double>()});
  }
  chart.series = {counted, formula};
  return {"optimum_keys", SvgDrawing(chart)};
}

}  // namespace rocksieve::experiments
