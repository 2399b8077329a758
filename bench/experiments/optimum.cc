// SPDX-License-Identifier: Apache-2.0
// The experiment "optimum": the number of probes that is best, and the number of keys that a Bloom
// filter holds at its rate, on 97,661 keys. Source of the formulas:
// rocksieve/dynamic/bloom_filter.h.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/filter.h>

#include "bench/experiments/experiment.h"
#include "lib/hash/mix.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

// A false-positive rate, counted.
struct CountedRate {
  uint64_t hits = 0, asked = 0;

  double Rate() const { return static_cast<double>(hits) / static_cast<double>(asked); }
  // Half the width of the 95 % score interval of a binomial share, which has a width even where
  // there was no hit. E. B. Wilson, "Probable inference, the law of succession, and statistical
  // inference", 1927.
  double HalfWidth95() const;
  // How many standard errors it is away from a rate; 0 if that is 0.
  double ScoreAgainst(double rate) const;
};

double CountedRate::HalfWidth95() const {
  constexpr double kNormal = 1.959963984540054;
  const double n = static_cast<double>(asked), z2_per_n = kNormal * kNormal / n;
  return kNormal / (1 + z2_per_n) * std::sqrt(Rate() * (1 - Rate()) / n + z2_per_n / (4 * n));
}

double CountedRate::ScoreAgainst(double rate) const {
  if (rate <= 0) return 0;
  return (Rate() - rate) / std::sqrt(rate * (1 - rate) / static_cast<double>(asked));
}

// Other numbers than those from which the filters derive positions.
constexpr uint64_t kSeed = 0x5EED0F97661ULL;

// Missing keys: the other words of the list, and as many random hashes as asked for, which stand
// for the hashes of keys.
struct MissingKeys {
  std::vector<std::string> words;
  uint64_t random_hashes = 0;
};

using Kind = Column::Kind;

struct OptimumInput {
  std::vector<std::string> keys;        // what is added: as many as in the published run
  std::vector<std::string> other_keys;  // to overfill filters with; neither in keys nor missing
  MissingKeys missing;
};

// Counts the false positives of a BloomFilter or Filter into a row: the rates of words and of
// random hashes. Unless the latter is within 5 standard errors of what the formula says, or 3 %,
// which is what the formula itself is good for, it is a failure, which names `what`.
template <typename AnyFilter>
double AddRates(const AnyFilter& filter, const MissingKeys& missing, double formula,
                const std::string& what, Run* run, nlohmann::json* row) {
  constexpr double kMostScore = 5, kFormulaError = 0.03;
  run->Begin(what);
  CountedRate words{0, missing.words.size()}, random{0, missing.random_hashes};
  for (const std::string& word : missing.words) words.hits += filter.MayContain(word);
  for (uint64_t i = 0; i < random.asked; i++) {
    random.hits += filter.MayContainHash(SplitMix64(kSeed, i));
  }
  row->update({{"formula", formula},
               {"words_rate", words.Rate()},
               {"words_half_width_95", words.HalfWidth95()},
               {"random_rate", random.Rate()},
               {"random_half_width_95", random.HalfWidth95()}});
  if (std::abs(random.Rate() - formula) > kFormulaError * formula &&
      std::abs(random.ScoreAgainst(formula)) > kMostScore) {
    run->Fail("optimum: " + what + ": a rate of " + Significant(random.Rate(), 3) +
              ", where the formula says " + Significant(formula, 3));
  }
  return random.Rate();
}

constexpr int kMostProbes = 16;
constexpr uint64_t kBitsPerKey = 10;

// At 10 bits per key, the rate for each number of probes. Fails if the best one is not the one
// that OptimalBloomHashes() names, or next to it within the error.
Table MeasureProbes(const OptimumInput& input, Run* run) {
  const uint64_t keys = input.keys.size(), bits = kBitsPerKey * keys;
  const int best = OptimalBloomHashes(bits, keys);
  Table table;
  table.name = "optimum_probes";
  table.title = "OPTIMAL NUMBER OF PROBES";
  table.explanation =
      Thousands(keys) + " words in a Bloom filter of " + std::to_string(kBitsPerKey) +
      " bits per key; rate of false positives, in percent, by the formula (1 - e^(-k n / m))^k, "
      "and counted: of " +
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
    BloomFilterOptions options;
    options.bits = bits;
    options.hashes = probes;
    BloomFilter filter(options);
    for (const std::string& key : input.keys) filter.Add(key);
    nlohmann::json row = {
        {"probes", probes}, {"fill", filter.FillRatio()}, {"best", probes == best ? "<" : ""}};
    const double rate = AddRates(filter, input.missing, BloomFalsePositiveRate(bits, probes, keys),
                                 std::to_string(probes) + " probes", run, &row);
    if (probes == best) rate_of_best = rate;
    least = std::min(least, rate);
    table.rows.push_back(row);
  }
  // 6 and 8 probes cost 3 % more, so chance may put one of them first.
  if (rate_of_best > 1.03 * least) {
    run->Fail("optimum: " + std::to_string(best) + " probes are not the best");
  }
  return table;
}

// Rates against a field of the rows.
Chart RatesPicture(const Table& table, const char* x_field, bool with_words) {
  Chart chart;
  chart.y_label = "rate of false positives, percent";
  ChartSeries formula{"formula", {}, true}, counted{"counted, random keys", {}, false},
      words{"counted, words", {}, false};
  for (const nlohmann::json& row : table.rows) {
    const double x = row[x_field];
    const auto percent = [&](const char* field) { return 100 * row[field].get<double>(); };
    chart.ticks.push_back({x, Fixed(x, 0), ""});
    formula.points.push_back({x, percent("formula")});
    counted.points.push_back({x, percent("random_rate"), percent("random_half_width_95")});
    words.points.push_back({x, percent("words_rate")});
  }
  chart.x_min = chart.ticks.front().x;
  chart.x_max = chart.ticks.back().x;
  chart.series = {counted, formula};
  if (with_words) chart.series.insert(chart.series.begin() + 1, words);
  return chart;
}

Chart ProbesPicture(const Table& probes) {
  Chart chart = RatesPicture(probes, "probes", /*with_words=*/true);
  chart.title = "False positives against probes per key";
  chart.subtitle = "Bloom filter, 10 bits per key; bars: 95 % confidence";
  chart.x_label = "probes per key";
  chart.linear_y = true;
  return chart;
}

Chart KeysPicture(const Table& keys) {
  Chart chart = RatesPicture(keys, "percent", /*with_words=*/false);
  chart.title = "False positives against keys";
  chart.subtitle = "Bloom filter, made for 0.01 % at 100 percent; bars: 95 % confidence";
  chart.x_label = "keys, percent of what it was made for";
  return chart;
}

constexpr double kRate = 1e-4;
constexpr int kPercents[] = {50, 75, 90, 100, 110, 125, 150, 175, 200};

// A filter for the keys at 0.01 %, with more and more keys in it.
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
    for (const uint64_t end = planned * static_cast<uint64_t>(percent) / 100; added < end;
         added++) {
      filter.Add(added < planned ? input.keys[added] : input.other_keys.at(added - planned));
    }
    nlohmann::json row = {{"keys", added}, {"percent", percent}, {"fill", filter.FillRatio()}};
    AddRates(filter, input.missing, BloomFalsePositiveRate(options.bits, options.hashes, added),
             Thousands(added) + " keys", run, &row);
    table.rows.push_back(row);
  }
  return table;
}

struct Point {
  const char* name;
  double published_rate;
  // One of both.
  double rate;
  double bits_per_key;
};

constexpr Point kPoints[] = {{"Made for a rate of 0.01 %", 1.24e-4, 1e-4, 0},
                             {"10 bits per key", 0.0082, 0, 10}};

constexpr std::pair<const char*, BloomHashing> kHashings[] = {
    {"Bloom, double hashing", BloomHashing::kDouble},
    {"Bloom, enhanced double", BloomHashing::kEnhancedDouble},
    {"Bloom, independent", BloomHashing::kIndependent}};
constexpr std::pair<const char*, Family> kFamilies[] = {{"rocksieve.bloom", Family::kBloom},
                                                        {"rocksieve.cuckoo", Family::kCuckoo},
                                                        {"rocksieve.ribbon", Family::kRibbon}};

BloomFilterOptions OptionsOf(const Point& point, uint64_t keys) {
  if (point.rate > 0) return BloomFilterOptions::ForKeys(keys, point.rate);
  BloomFilterOptions options;
  options.bits = static_cast<uint64_t>(point.bits_per_key * static_cast<double>(keys));
  options.hashes = OptimalBloomHashes(options.bits, keys);
  return options;
}

FilterSpec SpecOf(const Point& point, Family family) {
  FilterSpec spec;
  spec.family = family;
  spec.unit = point.rate > 0 ? FilterSpec::Unit::kFalsePositiveRate : FilterSpec::Unit::kBitsPerKey;
  spec.amount = point.rate > 0 ? point.rate : point.bits_per_key;
  return spec;
}

// The two published points, with all ways to hash, and our static families.
Table MeasurePublishedPoints(const OptimumInput& input, Run* run) {
  Table table;
  table.name = "optimum_published";
  table.title = "THE PUBLISHED POINTS";
  table.explanation = Thousands(input.keys.size()) +
                      " keys, rates in percent, as above; beside them the published rate, of a "
                      "Bloom filter.";
  table.columns = {{"filter", "", "filter", Kind::kText},
                   {"bits_per_key", "bits", "per key", Kind::kFixed, 2},
                   {"formula", "", "formula", Kind::kPercent, 3},
                   {"words_rate", "", "words", Kind::kPercent, 3},
                   {"words_half_width_95", "", "+-", Kind::kPercent, 2},
                   {"random_rate", "", "random", Kind::kPercent, 3},
                   {"random_half_width_95", "", "+-", Kind::kPercent, 2},
                   {"published_rate", "pub-", "lished", Kind::kPercent, 3}};
  for (const Point& point : kPoints) {
    const auto add = [&](const char* name, const auto& filter, double bits, double formula) {
      nlohmann::json row = {{"group", point.name},
                            {"filter", name},
                            {"bits_per_key", bits / static_cast<double>(input.keys.size())},
                            {"published_rate", point.published_rate}};
      AddRates(filter, input.missing, formula, std::string(name) + ", " + point.name, run, &row);
      table.rows.push_back(row);
    };
    for (const auto& [name, hashing] : kHashings) {
      BloomFilterOptions options = OptionsOf(point, input.keys.size());
      options.hashing = hashing;
      BloomFilter filter(options);
      for (const std::string& key : input.keys) filter.Add(key);
      add(name, filter, static_cast<double>(options.bits),
          BloomFalsePositiveRate(options.bits, options.hashes, input.keys.size()));
    }
    for (const auto& [name, family] : kFamilies) {
      FilterBuilder builder(SpecOf(point, family));
      for (const std::string& key : input.keys) builder.AddKey(key);
      const FilterBlock block = builder.Finish();
      const OpenedFilter opened = OpenFilter(block.view());
      add(name, *opened.filter, 8 * static_cast<double>(block.size),
          ExpectedFalsePositiveRate(opened.info));
    }
  }
  return table;
}

constexpr size_t kKeys = 97'661;  // as published

OptimumInput Input(bool quick) {
  std::vector<std::string> words = ShuffledDistinctWords();
  if (words.size() < 3 * kKeys) throw std::runtime_error("wamerican-insane has too few words");
  OptimumInput input;
  const auto keys_end = words.begin() + kKeys, others_end = keys_end + kKeys;
  input.keys.assign(words.begin(), keys_end);
  input.other_keys.assign(keys_end, others_end);
  input.missing.words.assign(others_end, words.end());
  input.missing.random_hashes = quick ? 2'000'000 : 20'000'000;
  return input;
}

}  // namespace

void MeasureOptimum(Run* run) {
  const OptimumInput input = Input(run->settings.quick);
  const Table probes = MeasureProbes(input, run);
  run->Add(probes);
  run->Draw("optimum_probes", ProbesPicture(probes));
  const Table keys = MeasureKeys(input, run);
  run->Add(keys);
  run->Draw("optimum_keys", KeysPicture(keys));
  run->Add(MeasurePublishedPoints(input, run));
}

}  // namespace rocksieve::experiments
