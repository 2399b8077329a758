// SPDX-License-Identifier: Apache-2.0
// Searches for similar pairs of a corpus by MinHash and LSH, under several seeds, with both kinds
// of signatures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksieve/estimate/lsh_index.h>

#include "bench/experiments/near_duplicates/corpus.h"

namespace rocksieve::experiments {

// Tenths of similarity: [0, 0.1), ..., [0.9, 1].
inline constexpr size_t kBins = 10;

struct BinCounts {
  uint64_t pairs = 0;
  double similarity = 0;        // sum
  uint64_t met = 0;             // were candidates
  uint64_t within_003 = 0;      // were estimated within 0.03 of the truth
  double error = 0;             // sum of estimate minus truth
  double squared_error = 0;     // sum
  double expected_squared = 0;  // sum of J (1 - J) / places
  double expected_met = 0;      // sum of 1 - (1 - J^rows)^bands
};

// Sums of 1 - (1 - J^rows)^bands: of all pairs, and of those at or above the threshold.
struct ExpectedCandidates {
  double all = 0, similar = 0;
};

struct RunSettings {
  double threshold = 0.6;
  uint64_t places = 128;
  uint64_t seeds = 10;  // 0, 1, ...
};

// Sums over the seeds, and of each seed what has to be trusted.
struct SearchRuns {
  LshOptions options;
  ExpectedCandidates expected;  // of one seed
  uint64_t seeds = 0, candidates = 0, found = 0, found_by_estimate = 0, wrong_by_estimate = 0;
  double signing_seconds = 0, search_seconds = 0;
  std::vector<double> recalls;
  std::vector<BinCounts> bins;
};

struct CorpusRuns {
  std::string name, about;
  size_t sets = 0;
  uint64_t similar = 0;  // pairs at or above the threshold
  AllPairs truth;
  std::vector<SearchRuns> searches;
};

CorpusRuns RunSearches(const Corpus& corpus, const RunSettings& settings);

}  // namespace rocksieve::experiments
