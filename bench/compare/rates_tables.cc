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

// The row of a filter. Small ones differ from each other by chance: many of them, of different
// keys, share the probes. A rate that is off its model by more than 10 % and more than four
// standard errors is a failure; never for less than 100 keys, whose models are rough.
nlohmann::json Observe(const Candidate& candidate, uint64_t keys, const ProbeBudget& budget,
                       Run* run) {
  const uint64_t filters = std::clamp<uint64_t>(kKeysInAllFilters / keys, 1, kMostFilters);
  const auto count = static_cast<double>(filters);
  const double keys_in_all = static_cast<double>(keys) * count;
  uint64_t probes_each = 0, counted = 0;
  double model = 0, bits = 0, range_bits = 0;
  std::vector<double> rates;
  for (uint64_t i = 0; i < filters; i++) {
    const KeySet set(keys, /*seed=*/i + 1);
    const BuiltFilter filter = candidate.Build(set);
    const double its_model = candidate.ModelRate(filter.view(), keys);
    if (i == 0) probes_each = ProbesFor(its_model, budget) / filters;
    const uint64_t passed = CountFalsePositives(filter, set, probes_each);
    counted += passed;
    rates.push_back(static_cast<double>(passed) / static_cast<double>(probes_each));
    model += its_model / count;
    bits += 8.0 * static_cast<double>(filter.block.size()) / keys_in_all;
    range_bits += 8.0 * static_cast<double>(candidate.RangeBytes(filter.view())) / keys_in_all;
  }
  const double probes = static_cast<double>(probes_each * filters);
  const double rate = static_cast<double>(counted) / probes;
  // What the model says counts too: where nothing was counted, nothing seems to vary.
  const double expected = std::max(rate, model);
  double squares = 0;
  for (const double one : rates) squares += (one - rate) * (one - rate);
  const double error = std::sqrt(
      std::max(expected * (1 - expected) / probes, squares / std::max(count - 1, 1.0) / count));
  const double off = std::abs(rate - model);
  if (keys >= kLeastKeysWithModel && off > 0.1 * model && off > 4 * error) {
    run->Fail(candidate.spec() + ", " + Counted(keys, "key") + ": " + Significant(100 * rate, 4) +
              " % of missing keys pass, its model says " + Significant(100 * model, 4) +
              " %, the standard error is " + Significant(100 * error, 2) + " %");
  }
  return {{"filter", candidate.spec()},
          {"keys", keys},
          {"group", Counted(keys, "key")},
          {"rate", rate},
          {"rate_standard_error", error},
          {"rate_model", model},
          {"rate_over_model", rate / model},
          {"bits_per_key", bits},
          {"bits_per_key_without_range", bits - range_bits},
          {"counted", counted}};
}

const Column kFilter = {"filter", "", "filter", Kind::kText};
const Column kBits = {"bits_per_key", "bits", "per key", Kind::kFixed, 3};
const Column kRate = {"rate", "missing that", "pass, %", Kind::kPercent, 4};
const Column kError = {"rate_standard_error", "standard", "error, %", Kind::kPercent, 2};
const Column kOverModel = {"rate_over_model", "over its", "model", Kind::kFixed, 3};
const Column kCounted = {"counted", "", "counted", Kind::kFixed, 0};

// Measures a line-up one by one, and relates each filter to the first: the settings' specs, or for
// each amount these, in which it takes the place of "*".
void AddRows(const std::vector<std::string>& specs, const std::vector<std::string>& amounts,
             uint64_t keys, const ProbeBudget& budget, Run* run, Table* table) {
  const std::vector<std::string>& own = run->settings.specs;
  for (const std::string& amount : own.empty() ? amounts : std::vector<std::string>{""}) {
    std::vector<std::string> line_up = own;
    for (std::string spec : own.empty() ? specs : std::vector<std::string>()) {
      line_up.push_back(spec.replace(spec.find('*'), 1, amount));
    }
    nlohmann::json reference;
    for (const Candidate& candidate : MakeCandidates(line_up)) {
      run->Begin(table->name + ": " + candidate.spec() + ", " + Counted(keys, "key"));
      nlohmann::json row = Observe(candidate, keys, budget, run);
      if (reference.is_null()) reference = row;
      row["part"] = amount;
      const auto number = [](const nlohmann::json& of, const char* field) {
        return of[field].get<double>();
      };
      const double rate = number(row, "rate"), bits = number(row, "bits_per_key");
      if (number(reference, "rate") > 0) {
        row["rate_over_reference"] = rate / number(reference, "rate");
      }
      row["bits_over_reference"] = bits / number(reference, "bits_per_key");
      if (rate > 0) row["bits_over_limit"] = bits / -std::log2(rate);
      table->rows.push_back(row);
    }
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
  std::vector<std::string> amounts;
  for (const double bits : run->settings.rate_bits) amounts.push_back(Shortest(bits));
  for (const uint64_t keys : run->settings.rate_keys) {
    AddRows({"bloomfilter:*", "rocksieve.bloom:*", "rocksieve.bloom:*:fast",
             "rocksieve.bloom:*:thorough", "rocksieve.cuckoo:*", "rocksieve.ribbon:*"},
            amounts, keys, run->settings.probes, run, &table);
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
  for (const uint64_t keys : run->settings.size_keys) {
    AddRows({"bloomfilter:*", "ribbonfilter:*", "rocksieve.bloom:*", "rocksieve.cuckoo:*",
             "rocksieve.cuckoo:*:thorough", "rocksieve.ribbon:*", "rocksieve.ribbon:*:thorough"},
            run->settings.equal_rates, keys, run->settings.probes, run, &table);
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
  for (const uint64_t keys : run->settings.small_keys) {
    AddRows({"bloomfilter:*", "ribbonfilter:*", "rocksieve.bloom:*", "rocksieve.cuckoo:*",
             "rocksieve.ribbon:*"},
            {"10", "0.1%"}, keys, run->settings.small_probes, run, &table);
  }
  return table;
}

}  // namespace rocksieve::bench
