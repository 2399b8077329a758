// SPDX-License-Identifier: Apache-2.0
// The experiment "growth": a scalable Bloom filter that was made for too few keys, beside a Bloom
// filter that knew how many would come. P. Almeida, C. Baquero, N. Preguica, D. Hutchison,
// "Scalable Bloom filters", 2007.
#include <cmath>
#include <set>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/dynamic/scalable_bloom_filter.h>

#include "bench/experiments/experiment.h"
#include "lib/hash/mix.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using Kind = Column::Kind;

constexpr uint64_t kFirstGuess = 1000, kSeed = 2007;
constexpr double kBound = 0.01;
constexpr int kDecades = 3;

double BitsPerKey(size_t bytes, uint64_t keys) {
  return 8 * static_cast<double>(bytes) / static_cast<double>(keys);
}

size_t OracleBytes(uint64_t keys) {
  return BloomFilter(BloomFilterOptions::ForKeys(keys, kBound)).MemoryBytes();
}

Table EmptyTable() {
  Table table;
  table.name = "growth";
  table.title = "MORE KEYS THAN GUESSED";
  table.explanation =
      "A scalable Bloom filter made for " + Thousands(kFirstGuess) +
      " keys, its rate bound to 1 %, as more and more come. Bits per key: its own, and those of an "
      "oracle, a Bloom filter for just so many keys at 1 %. Rates: by the bits that are set; "
      "counted, with random keys; and of a Bloom filter for the first guess, which knows no more.";
  table.columns = {{"keys", "", "keys", Kind::kFixed, 0},
                   {"layers", "", "layers", Kind::kFixed, 0},
                   {"bits_per_key", "bits", "per key", Kind::kFixed, 1},
                   {"oracle_bits_per_key", "of the", "oracle", Kind::kFixed, 1},
                   {"times", "", "times", Kind::kFixed, 2},
                   {"expected_rate", "rate, %", "by bits", Kind::kPercent, 3},
                   {"counted_rate", "", "counted", Kind::kPercent, 3},
                   {"fixed_rate", "fixed", "filter", Kind::kPercent, 3}};
  return table;
}

bool IsInTable(uint64_t keys) {
  while (keys % 10 == 0) keys /= 10;
  return keys == 1 || keys == 2 || keys == 5;
}

// Enough for the picture to show where layers begin, and the round numbers of the table.
std::set<uint64_t> NumbersOfKeys() {
  constexpr int kPointsPerDecade = 30;
  std::set<uint64_t> numbers;
  for (int point = 0; point <= kDecades * kPointsPerDecade; point++) {
    const double times = std::pow(10, static_cast<double>(point) / kPointsPerDecade);
    numbers.insert(static_cast<uint64_t>(std::lround(kFirstGuess * times)));
  }
  for (uint64_t keys = kFirstGuess; keys < *numbers.rbegin(); keys *= 10) {
    numbers.insert({2 * keys, 5 * keys});
  }
  return numbers;
}

Chart MemoryPicture(const std::vector<ChartPoint>& scalable,
                    const std::vector<ChartPoint>& oracle) {
  Chart chart;
  chart.title = "Memory of a filter that did not know how many keys would come";
  chart.subtitle = "scalable Bloom filter made for " + Thousands(kFirstGuess) +
                   " keys; rate of at most 1 % throughout";
  chart.x_label = "keys";
  chart.y_label = "bits per key";
  chart.linear_y = true;
  chart.x_max = kDecades;
  for (int decade = 0; decade <= kDecades; decade++) {
    chart.ticks.push_back({static_cast<double>(decade),
                           Thousands(static_cast<uint64_t>(kFirstGuess * std::pow(10, decade))),
                           ""});
  }
  chart.series = {{"scalable", scalable, false}, {"oracle", oracle, true}};
  return chart;
}

}  // namespace

void MeasureGrowth(Run* run) {
  const uint64_t queries = run->settings.quick ? 100'000 : 1'000'000;
  ScalableBloomFilterOptions options;
  options.initial_keys = kFirstGuess;
  options.false_positive_rate = kBound;
  ScalableBloomFilter filter(options);
  const BloomFilterOptions fixed = BloomFilterOptions::ForKeys(kFirstGuess, kBound);
  Table table = EmptyTable();
  std::vector<ChartPoint> scalable, oracle;
  uint64_t added = 0;
  for (const uint64_t keys : NumbersOfKeys()) {
    const double decades = std::log10(static_cast<double>(keys) / kFirstGuess);
    while (added < keys) filter.AddHash(SplitMix64(kSeed, added++));
    scalable.push_back({decades, BitsPerKey(filter.MemoryBytes(), keys)});
    oracle.push_back({decades, BitsPerKey(OracleBytes(keys), keys)});
    if (!IsInTable(keys)) continue;
    run->Begin(Thousands(keys) + " keys");
    uint64_t passed = 0;
    for (uint64_t i = 0; i < queries; i++) {
      passed += filter.MayContainHash(SplitMix64(kSeed + 1, i));
    }
    const double expected = filter.ExpectedFalsePositiveRate();
    const double counted = static_cast<double>(passed) / static_cast<double>(queries);
    if (expected > kBound ||
        std::abs(counted - expected) > 5 * std::sqrt(expected / static_cast<double>(queries))) {
      run->Fail("growth: " + Thousands(keys) + " keys: a rate of " + Significant(counted, 3) +
                ", by the bits " + Significant(expected, 3));
    }
    table.rows.push_back({{"keys", keys},
                          {"layers", filter.layer_count()},
                          {"bits_per_key", scalable.back().y},
                          {"oracle_bits_per_key", oracle.back().y},
                          {"times", scalable.back().y / oracle.back().y},
                          {"expected_rate", expected},
                          {"counted_rate", counted},
                          {"fixed_rate", BloomFalsePositiveRate(fixed.bits, fixed.hashes, keys)}});
  }
  run->Add(table);
  run->Draw("growth_memory", MemoryPicture(scalable, oracle));
}

}  // namespace rocksieve::experiments
