// The tables of false-positive rates and sizes.
#include <rocksieve/filter.h>

#include <cmath>

#include "bench/compare/tables.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

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
    run->progress.Begin(table->name + ": " + candidate.spec() + ", " + KeysHeading(keys));
    nlohmann::json row = ObservedRow(candidate, keys, budget, &run->failures);
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
