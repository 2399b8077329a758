#include "bench/compare/observed_rate.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rocksieve::bench {
namespace {

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

}  // namespace

bool ObservedRate::OffModel() const {
  if (keys < kLeastKeysWithModel) return false;
  const double off = std::abs(rate - model);
  return off > 0.1 * model && off > 4 * standard_error;
}

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

nlohmann::json ObservedRow(const Candidate& candidate, uint64_t keys, const ProbeBudget& budget,
                           Failures* failures) {
  const ObservedRate observed = Observe(candidate, keys, budget);
  if (observed.OffModel()) {
    failures->push_back(
        candidate.spec() + ", " + KeysHeading(keys) + ": " + Significant(100 * observed.rate, 4) +
        " % of missing keys pass, its model says " + Significant(100 * observed.model, 4) +
        " %, the standard error is " + Significant(100 * observed.standard_error, 2) + " %");
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

}  // namespace rocksieve::bench
