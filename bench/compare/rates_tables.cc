// SPDX-License-Identifier: Apache-2.0
// The tables of false-positive rates and sizes: how often a filter passes keys that it does not
// have, and whether that is what it should.
#include <rocksieve/filter.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/compare/tables.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

constexpr uint64_t kKeysInAllFilters = 200'000;
constexpr uint64_t kMostFilters = 2'000;

// The models leave out what only tiny sets have, such as windows of a cuckoo filter that coincide.
constexpr uint64_t kLeastKeysWithModel = 100;

uint64_t CountFalsePositives(const BuiltFilter& filter, const KeySet& keys, uint64_t probes) {
  char key[KeySet::kDefaultBytes] = {};
  const rocksdb::Slice slice(key, sizeof(key));
  uint64_t count = 0;
  for (uint64_t i = 0; i < probes; i++) {
    keys.WriteMissing(i, key);
    count += filter.reader->MayMatch(slice);
  }
  return count;
}

uint64_t ProbesFor(double rate, const ProbeBudget& budget) {
  constexpr double kLeastProbes = 200'000;
  const double possible = std::max(rate, 1e-12);
  const double usual = std::min(budget.wanted_hits / possible, budget.usual_probes);
  const double needed = std::min(budget.least_hits / possible, budget.most_probes);
  return static_cast<uint64_t>(std::max({kLeastProbes, usual, needed}));
}

// Of the mean of these rates.
double StandardError(const std::vector<double>& rates, double mean) {
  if (rates.size() < 2) return 0;
  double squares = 0;
  for (double rate : rates) squares += (rate - mean) * (rate - mean);
  const double n = static_cast<double>(rates.size());
  return std::sqrt(squares / (n - 1) / n);
}

struct ObservedRate {
  uint64_t keys = 0;
  double rate = 0;
  double standard_error = 0;
  double model = 0;               // of these very filters
  double bits_per_key = 0;        // of the whole blocks
  double range_bits_per_key = 0;  // of these, for the smallest and the largest key
  uint64_t counted = 0;           // false positives

  // By more than 10 % and more than four standard errors; never for less than 100 keys, whose
  // models are rough.
  bool OffModel() const;
};

bool ObservedRate::OffModel() const {
  if (keys < kLeastKeysWithModel) return false;
  const double off = std::abs(rate - model);
  return off > 0.1 * model && off > 4 * standard_error;
}

// Small filters differ from each other by chance: many of them, of different keys, share the
// probes.
ObservedRate Observe(const Candidate& candidate, uint64_t keys, const ProbeBudget& budget) {
  const uint64_t filters = std::clamp<uint64_t>(kKeysInAllFilters / keys, 1, kMostFilters);
  uint64_t probes_each = 0;
  ObservedRate observed;
  observed.keys = keys;
  std::vector<double> rates;
  for (uint64_t i = 0; i < filters; i++) {
    const KeySet set(keys, /*seed=*/i + 1);
    const BuiltFilter filter = candidate.Build(set);
    const double model = candidate.ModelRate(filter.view(), keys);
    if (i == 0) probes_each = ProbesFor(model, budget) / filters;
    const uint64_t count = CountFalsePositives(filter, set, probes_each);
    observed.counted += count;
    rates.push_back(static_cast<double>(count) / static_cast<double>(probes_each));
    observed.model += model / static_cast<double>(filters);
    const double keys_in_all = static_cast<double>(keys * filters);
    observed.bits_per_key += 8.0 * static_cast<double>(filter.block.size()) / keys_in_all;
    observed.range_bits_per_key +=
        8.0 * static_cast<double>(candidate.RangeBytes(filter.view())) / keys_in_all;
  }
  const double probes = static_cast<double>(probes_each * filters);
  observed.rate = static_cast<double>(observed.counted) / probes;
  // What the model says counts too: where nothing was counted, nothing seems to vary.
  const double expected = std::max(observed.rate, observed.model);
  observed.standard_error =
      std::max(StandardError(rates, observed.rate), std::sqrt(expected * (1 - expected) / probes));
  return observed;
}

// The same as a row: filter, keys, rate, rate_standard_error, rate_model, rate_over_model,
// bits_per_key, bits_per_key_without_range, counted. A rate that is off its model is added to the
// failures.
nlohmann::json ObservedRow(const Candidate& candidate, uint64_t keys, const ProbeBudget& budget,
                           Run* run) {
  const ObservedRate observed = Observe(candidate, keys, budget);
  if (observed.OffModel()) {
    run->Fail(candidate.spec() + ", " + KeysHeading(keys) + ": " +
              Significant(100 * observed.rate, 4) + " % of missing keys pass, its model says " +
              Significant(100 * observed.model, 4) + " %, the standard error is " +
              Significant(100 * observed.standard_error, 2) + " %");
  }
  return {{"filter", candidate.spec()},
          {"keys", keys},
          {"rate", observed.rate},
          {"rate_standard_error", observed.standard_error},
          {"rate_model", observed.model},
          {"rate_over_model", observed.rate / observed.model},
          {"bits_per_key", observed.bits_per_key},
          {"bits_per_key_without_range", observed.bits_per_key - observed.range_bits_per_key},
          {"counted", observed.counted}};
}

constexpr Column kFilter = {"filter", "", "filter", Kind::kText};
constexpr Column kBits = {"bits_per_key", "bits", "per key", Kind::kFixed, 3};
constexpr Column kRate = {"rate", "missing that", "pass, %", Kind::kPercent, 4};
constexpr Column kError = {"rate_standard_error", "standard", "error, %", Kind::kPercent, 2};
constexpr Column kOverModel = {"rate_over_model", "over its", "model", Kind::kFixed, 3};
constexpr Column kCounted = {"counted", "", "counted", Kind::kFixed, 0};

// Measures the line-up one by one, and relates each filter to the first.
void AddRows(const Candidates& candidates, uint64_t keys, const std::string& part,
             const ProbeBudget& budget, Run* run, Table* table) {
  nlohmann::json reference;
  for (const Candidate& candidate : candidates) {
    run->Begin(table->name + ": " + candidate.spec() + ", " + KeysHeading(keys));
    nlohmann::json row = ObservedRow(candidate, keys, budget, run);
    if (reference.is_null()) reference = row;
    row["group"] = KeysHeading(keys);
    row["part"] = part;
    const double rate = row["rate"].get<double>(), reference_rate = reference["rate"].get<double>();
    if (reference_rate > 0) row["rate_over_reference"] = rate / reference_rate;
    row["bits_over_reference"] =
        row["bits_per_key"].get<double>() / reference["bits_per_key"].get<double>();
    if (rate > 0) row["bits_over_limit"] = row["bits_per_key"].get<double>() / -std::log2(rate);
    table->rows.push_back(row);
  }
}

}  // namespace

Candidates MakeCandidates(const std::vector<std::string>& specs) {
  Candidates candidates(specs.size());
  for (size_t i = 0; i < specs.size(); i++) {
    const std::string error = Candidate::Make(specs[i], &candidates[i]);
    if (!error.empty()) throw std::invalid_argument(error);
  }
  return candidates;
}

std::vector<Candidates> TimedSeries(const Settings& settings) {
  if (!settings.specs.empty()) return {MakeCandidates(settings.specs)};
  return {MakeCandidates({"bloomfilter:10", "rocksieve.bloom:10"}),
          MakeCandidates({"bloomfilter:16", "rocksieve.bloom:16"}),
          MakeCandidates({"ribbonfilter:0.1%", "rocksieve.ribbon:0.1%", "rocksieve.cuckoo:0.1%",
                          "rocksieve.bloom:0.1%", "bloomfilter:0.1%"}),
          MakeCandidates({"ribbonfilter:1%", "rocksieve.ribbon:1%"})};
}

Table MeasureRates(Run* run) {
  Table table = {
      .name = "rates",
      .title = "FALSE POSITIVES AND SIZE",
      .explanation =
          "Bits per key: of the whole block. Over first: the rate over that of the first "
          "filter of the group. Over its model: the rate over what these very filters "
          "should have. Counted: so many false positives.",
      .columns = {kFilter,
                  kBits,
                  kRate,
                  kError,
                  {"rate_over_reference", "rate over", "first", Kind::kFixed, 3},
                  kOverModel,
                  kCounted},
  };
  const Settings& s = run->settings;
  for (uint64_t keys : s.rate_keys) {
    if (!s.specs.empty()) {
      AddRows(MakeCandidates(s.specs), keys, "", s.probes, run, &table);
      continue;
    }
    for (double bits : s.rate_bits) {
      const std::string amount = Shortest(bits);
      AddRows(MakeCandidates({"bloomfilter:" + amount, "rocksieve.bloom:" + amount,
                              "rocksieve.bloom:" + amount + ":thorough",
                              "rocksieve.cuckoo:" + amount, "rocksieve.ribbon:" + amount}),
              keys, amount, s.probes, run, &table);
    }
  }
  return table;
}

Table MeasureSizes(Run* run) {
  Table table = {
      .name = "sizes",
      .title = "SIZE AT EQUAL RATES",
      .explanation =
          "The filters were asked for the same rate. Bits over first: the size over that "
          "of the first filter of the group. Over limit: the size over log2(1 / rate), "
          "the least that any filter of the rate found can take.",
      .columns = {kFilter,
                  kBits,
                  kRate,
                  kError,
                  {"bits_over_reference", "bits over", "first", Kind::kFixed, 3},
                  {"bits_over_limit", "bits over", "limit", Kind::kFixed, 3},
                  kOverModel},
  };
  for (uint64_t keys : run->settings.size_keys) {
    for (const std::string& rate : run->settings.equal_rates) {
      AddRows(
          MakeCandidates({"bloomfilter:" + rate, "ribbonfilter:" + rate, "rocksieve.bloom:" + rate,
                          "rocksieve.cuckoo:" + rate, "rocksieve.cuckoo:" + rate + ":thorough",
                          "rocksieve.ribbon:" + rate, "rocksieve.ribbon:" + rate + ":thorough"}),
          keys, rate, run->settings.probes, run, &table);
    }
  }
  return table;
}

Table MeasureSmall(Run* run) {
  Table table = {
      .name = "small",
      .title = "FROM SMALL SETS TO LARGE ONES",
      .explanation =
          "As above. Small sets: the mean of up to 2,000 filters of different keys. Where "
          "hardly anything was counted, the rate is too low to be measured in this time.",
      .columns = {kFilter,
                  kBits,
                  kRate,
                  kError,
                  {"bits_over_reference", "bits over", "first", Kind::kFixed, 3},
                  {"rate_over_reference", "rate over", "first", Kind::kFixed, 3},
                  kOverModel,
                  kCounted},
  };
  const Settings& s = run->settings;
  for (uint64_t keys : s.small_keys) {
    if (!s.specs.empty()) {
      AddRows(MakeCandidates(s.specs), keys, "", s.small_probes, run, &table);
      continue;
    }
    AddRows(MakeCandidates({"bloomfilter:10", "ribbonfilter:10", "rocksieve.bloom:10",
                            "rocksieve.cuckoo:10", "rocksieve.ribbon:10"}),
            keys, "10", s.small_probes, run, &table);
    AddRows(MakeCandidates({"bloomfilter:0.1%", "ribbonfilter:0.1%", "rocksieve.bloom:0.1%",
                            "rocksieve.cuckoo:0.1%", "rocksieve.ribbon:0.1%"}),
            keys, "0.1%", s.small_probes, run, &table);
  }
  return table;
}

}  // namespace rocksieve::bench
