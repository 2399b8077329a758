// How often a filter passes keys that it does not have, and whether that is what it should.
#pragma once

#include <cstdint>
#include <string>

#include "bench/compare/candidate.h"
#include "support/table.h"

namespace rocksieve::bench {

struct ProbeBudget {
  double wanted_hits = 0;  // false positives to count, if they come at no more than `usual_probes`
  double least_hits = 0;   // to count in any case, up to `most_probes`
  double usual_probes = 0;
  double most_probes = 0;
};

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

// Small filters differ from each other by chance: many of them, of different keys, share the
// probes.
ObservedRate Observe(const Candidate& candidate, uint64_t keys, const ProbeBudget& budget);

// The same as a row: filter, keys, rate, rate_standard_error, rate_model, rate_over_model,
// bits_per_key, bits_per_key_without_range, counted. A rate that is off its model is added to the
// failures.
nlohmann::json ObservedRow(const Candidate& candidate, uint64_t keys, const ProbeBudget& budget,
                           Failures* failures);

}  // namespace rocksieve::bench
