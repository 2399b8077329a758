// SPDX-License-Identifier: Apache-2.0
// How much is measured: three levels of effort, and what the command line changes of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/compare/candidate.h"

namespace rocksieve::bench {

enum class Effort { kSmoke, kQuick, kFull };

// The names of the tables, in the order of the report.
const std::vector<std::string>& TableNames();

struct ProbeBudget {
  double wanted_hits = 0;  // false positives to count, if they come at no more than `usual_probes`
  double least_hits = 0;   // to count in any case, up to `most_probes`
  double usual_probes = 0;
  double most_probes = 0;
};

struct Settings {
  std::vector<std::string> tables;  // those wanted, of TableNames()

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

  bool Wants(const std::string& table) const;
};

Settings SettingsFor(Effort effort);

// Takes these instead of every table's own numbers of keys.
void UseKeyCounts(const std::vector<uint64_t>& counts, Settings* settings);

// The filters whose times are compared: each with the built-in one of the same bits per key, or of
// the same rate, which comes first.
std::vector<Candidates> TimedSeries(const Settings& settings);

// The same, and thorough builds besides.
std::vector<Candidates> BuiltSeries(const Settings& settings);

// REQUIRES: the specs are known to be good.
Candidates MakeCandidates(const std::vector<std::string>& specs);

// The command line.
struct Flags {
  Settings settings;
  std::string json;                                 // path of the output
  std::vector<std::string> arguments_for_children;  // those that a run of a part must share
};

// What is left to do after ReadFlags().
enum class Asked { kRun, kNothing };  // kNothing: the help was printed

// Throws std::invalid_argument with a message for the user.
Asked ReadFlags(int argc, char** argv, Flags* flags);

}  // namespace rocksieve::bench
