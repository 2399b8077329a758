#include <rocksieve/dynamic/bloom_filter.h>

#include "experiments/optimum/tables.h"
#include "support/chart.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using Kind = Column::Kind;

constexpr int kMostProbes = 16;
constexpr uint64_t kBitsPerKey = 10;

}  // namespace

Table MeasureProbes(const OptimumInput& input, Run* run) {
  const uint64_t keys = input.keys.size(), bits = kBitsPerKey * keys;
  const int best = OptimalBloomHashes(bits, keys);
  Table table;
  table.name = "optimum_probes";
  table.title = "OPTIMAL NUMBER OF PROBES";
  table.explanation =
      Thousands(keys) + " words in a Bloom filter of " + std::to_string(kBitsPerKey) +
      " bits per key; rate of false positives, in percent, by the formula (1 - e^(-k n / m))^k, "
      "and "
      "counted: of " +
      Thousands(input.missing.words.size()) + " other words, and of " +
      Thousands(input.missing.random_hashes) +
      " random hashes (+-: half the width of the 95 % interval). The optimum is m / n ln 2 = 6.93; "
      "with k = " +
      std::to_string(best) + " half of the bits are set.";
  table.columns = {{"probes", "", "probes", Kind::kFixed, 0},
                   {"fill", "bits set", "%", Kind::kPercent, 3},
                   {"formula", "", "formula", Kind::kPercent, 4},
                   {"words_rate", "", "words", Kind::kPercent, 4},
                   {"random_rate", "", "random", Kind::kPercent, 4},
                   {"random_half_width_95", "", "+-", Kind::kPercent, 2},
                   {"best", "", "best", Kind::kText}};
  double least = 1, rate_of_best = 1;
  for (int probes = 1; probes <= kMostProbes; probes++) {
    run->progress(std::to_string(probes) + " probes");
    BloomFilterOptions options;
    options.bits = bits;
    options.hashes = probes;
    BloomFilter filter(options);
    for (const std::string& key : input.keys) filter.Add(key);
    const CountedRate words = CountWords(filter, input.missing);
    const CountedRate random = CountRandom(filter, input.missing);
    const double formula = BloomFalsePositiveRate(bits, probes, keys);
    Check(std::to_string(probes) + " probes", random, formula, run);
    if (probes == best) rate_of_best = random.Rate();
    least = std::min(least, random.Rate());
    table.rows.push_back({{"probes", probes},
                          {"fill", filter.FillRatio()},
                          {"formula", formula},
                          {"words_rate", words.Rate()},
                          {"random_rate", random.Rate()},
                          {"random_half_width_95", random.HalfWidth95()},
                          {"best", probes == best ? "<" : ""}});
  }
  // 6 and 8 probes cost 3 % more, so chance may put one of them first.
  if (rate_of_best > 1.03 * least) {
    run->failures.push_back("optimum: " + std::to_string(best) + " probes are not the best");
  }
  return table;
}

Picture ProbesPicture(const Table& probes) {
  Chart chart;
  chart.title = "False positives against probes per key";
  chart.subtitle = "Bloom filter, 10 bits per key; bars: 95 % confidence";
  chart.x_label = "probes per key";
  chart.y_label = "rate of false positives, percent";
  chart.x_min = 1;
  chart.x_max = kMostProbes;
  chart.linear_y = true;
  ChartSeries formula{"formula", {}, true}, counted{"counted, random keys", {}, false},
      words{"counted, words", {}, false};
  for (const nlohmann::json& row : probes.rows) {
    const double x = row["probes"];
    chart.ticks.push_back({x, Fixed(x, 0), ""});
    formula.points.push_back({x, 100 * row["formula"].get<double>()});
    counted.points.push_back({x, 100 * row["random_rate"].get<double>(),
                              100 * row["random_half_width_95"].get<double>()});
    words.points.push_back({x, 100 * row["words_rate"].get<double>()});
  }
  chart.series = {counted, words, formula};
  return {"optimum_probes", SvgDrawing(chart)};
}

}  // namespace rocksieve::experiments
