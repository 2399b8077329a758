// SPDX-License-Identifier: Apache-2.0
// The measurements of `./run bench`, by tables, and how much is measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/compare/filters.h"
#include "bench/program.h"

namespace rocksieve::bench {

inline constexpr size_t kBatch = 32;  // keys of a batched query; as many as RocksDB asks at once

struct ProbeBudget {
  double wanted_hits = 0;  // false positives to count, if they come at no more than `usual_probes`
  double least_hits = 0;   // to count in any case, up to `most_probes`
  double usual_probes = 0;
  double most_probes = 0;
};

struct Settings {
  // If not empty: the one line-up for all tables that have one.
  std::vector<std::string> specs;

  std::vector<uint64_t> rate_keys, size_keys, query_keys, length_keys, cold_keys, build_keys,
      memory_keys, small_keys, isa_keys;
  std::vector<double> rate_bits;
  std::vector<std::string> equal_rates;  // such as "0.1%"

  ProbeBudget probes;        // for each filter of a few sizes
  ProbeBudget small_probes;  // for each of many sizes
  int query_rounds = 0;
  uint64_t queries_per_sample = 0;
  int cold_rounds = 0;
  int cold_batches_per_round = 0;
  int build_rounds = 0;  // for up to a million keys; fewer beyond
};

// REQUIRES: the specs are known to be good.
Candidates MakeCandidates(const std::vector<std::string>& specs);

// The filters whose times are compared: each with the built-in one of the same bits per key, or of
// the same rate, which comes first.
std::vector<Candidates> TimedSeries(const Settings& settings);

// What lasts for the whole program.
struct Run : Report {
  using Report::Report;
  Settings settings;
  std::string arguments_for_children;  // that give them the same effort
};

Table MeasureRates(Run* run);    // false positives and size, by bits per key
Table MeasureSizes(Run* run);    // bits per key at equal rates
Table MeasureSmall(Run* run);    // rate and size by the number of keys
Table MeasureQueries(Run* run);  // times of single queries and of batches, filters in the caches
Table MeasureLengths(Run* run);  // the same by the length of the keys
Table MeasureCold(Run* run);     // batches against single queries, filters out of the caches
Table MeasureBuilds(Run* run);   // times of building
Table MeasureMemory(Run* run);   // memory while building
Table MeasureIsas(Run* run);     // times for each instruction set, in child processes

// Compares the tables so far with what the design promises.
Table CompareWithTargets(Run* run);

}  // namespace rocksieve::bench
