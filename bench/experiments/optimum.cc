// SPDX-License-Identifier: Apache-2.0
// The experiment "optimum": the number of probes that is best, and the number of keys that a Bloom
// filter holds at its rate, on 97,661 keys. Source of the formulas:
// rocksieve/dynamic/bloom_filter.h.
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

template <typename AnyFilter>
CountedRate CountWords(const AnyFilter& filter, const MissingKeys& missing) {
  CountedRate rate;
  rate.asked = missing.words.size();
  for (const std::string& word : missing.words) rate.hits += filter.MayContain(word);
  return rate;
}

// BloomFilter and Filter, by their MayContainHash().
template <typename AnyFilter>
CountedRate CountRandom(const AnyFilter& filter, const MissingKeys& missing) {
  CountedRate rate;
  rate.asked = missing.random_hashes;
  for (uint64_t i = 0; i < rate.asked; i++) {
    rate.hits += filter.MayContainHash(SplitMix64(kSeed, i));
  }
  return rate;
}

using Kind = Column::Kind;

struct OptimumInput {
  std::vector<std::string> keys;        // what is added: as many as in the published run
  std::vector<std::string> other_keys;  // to overfill filters with; neither in keys nor missing
  MissingKeys missing;
};

// Whether a rate that was counted is as its formula says: within 5 standard errors of it, or 3 %,
// which is what the formula itself is good for. Else a failure, which names `what`.
void Check(const std::string& what, const CountedRate& counted, double expected, Run* run) {
  constexpr double kMostScore = 5, kFormulaError = 0.03;
  const bool near = std::abs(counted.Rate() - expected) <= kFormulaError * expected;
  if (near || std::abs(counted.ScoreAgainst(expected)) <= kMostScore) return;
  run->Fail("optimum: " + what + ": a rate of " + Significant(counted.Rate(), 3) +
                          ", where the formula says " + Significant(expected, 3));
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
    run->Begin(std::to_string(probes) + " probes");
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
    run->Fail("optimum: " + std::to_string(best) + " probes are not the best");
  }
  return table;
}

Chart ProbesPicture(const Table& probes) {
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
    run->Begin(std::to_string(percent) + " % of the keys");
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

Chart KeysPicture(const Table& keys) {
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
  return chart;
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

class Rows {
 public:
  Rows(const OptimumInput& input, Table* table, Run* run)
      : input_(input), table_(table), run_(run) {}

  void AddBloom(const Point& point, const char* name, BloomHashing hashing) {
    BloomFilterOptions options = OptionsOf(point, input_.keys.size());
    options.hashing = hashing;
    BloomFilter filter(options);
    for (const std::string& key : input_.keys) filter.Add(key);
    Add(point, name, filter, static_cast<double>(options.bits),
        BloomFalsePositiveRate(options.bits, options.hashes, input_.keys.size()));
  }

  void AddStatic(const Point& point, const char* name, Family family) {
    FilterBuilder builder(SpecOf(point, family));
    for (const std::string& key : input_.keys) builder.AddKey(key);
    const FilterBlock block = builder.Finish();
    const OpenedFilter opened = OpenFilter(block.view());
    Add(point, name, *opened.filter, 8 * static_cast<double>(block.size),
        ExpectedFalsePositiveRate(opened.info));
  }

 private:
  template <typename AnyFilter>
  void Add(const Point& point, const std::string& name, const AnyFilter& filter, double bits,
           double expected) {
    run_->Begin(std::string(point.name) + ", " + name);
    const CountedRate words = CountWords(filter, input_.missing);
    const CountedRate random = CountRandom(filter, input_.missing);
    Check(name + ", " + point.name, random, expected, run_);
    table_->rows.push_back({{"group", point.name},
                            {"filter", name},
                            {"bits_per_key", bits / static_cast<double>(input_.keys.size())},
                            {"expected", expected},
                            {"words_rate", words.Rate()},
                            {"words_half_width_95", words.HalfWidth95()},
                            {"random_rate", random.Rate()},
                            {"random_half_width_95", random.HalfWidth95()},
                            {"published_rate", point.published_rate}});
  }

  const OptimumInput& input_;
  Table* const table_;
  Run* const run_;
};

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
                   {"expected", "", "formula", Kind::kPercent, 3},
                   {"words_rate", "", "words", Kind::kPercent, 3},
                   {"words_half_width_95", "", "+-", Kind::kPercent, 2},
                   {"random_rate", "", "random", Kind::kPercent, 3},
                   {"random_half_width_95", "", "+-", Kind::kPercent, 2},
                   {"published_rate", "pub-", "lished", Kind::kPercent, 3}};
  Rows rows(input, &table, run);
  for (const Point& point : kPoints) {
    for (const auto& [name, hashing] : kHashings) rows.AddBloom(point, name, hashing);
    rows.AddStatic(point, "rocksieve.bloom", Family::kBloom);
    rows.AddStatic(point, "rocksieve.cuckoo", Family::kCuckoo);
    rows.AddStatic(point, "rocksieve.ribbon", Family::kRibbon);
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
