// A search for similar pairs by MinHash and LSH, under one seed.
#pragma once

#include <rocksieve/estimate/lsh_index.h>

#include <cstdint>
#include <vector>

#include "experiments/near_duplicates/pairs.h"

namespace rocksieve::experiments {

// Tenths of similarity: [0, 0.1), ..., [0.9, 1].
inline constexpr size_t kBins = 10;
size_t BinOf(double similarity);

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

struct SearchResult {
  uint64_t candidates = 0;
  uint64_t found = 0;              // candidates at or above the threshold, exactly compared
  uint64_t found_by_estimate = 0;  // at or above it by their signatures
  uint64_t wrong_by_estimate = 0;  // of these, below it in truth
  double signing_seconds = 0, search_seconds = 0;  // CPU
  std::vector<BinCounts> bins;                     // kBins, of listed pairs
};

SearchResult Search(const Corpus& corpus, const AllPairs& truth, const LshOptions& options,
                    double threshold);

// Sums of 1 - (1 - J^rows)^bands: of all pairs, and of those at or above the threshold.
struct ExpectedCandidates {
  double all = 0, similar = 0;
};
ExpectedCandidates Expect(const AllPairs& truth, const LshBanding& banding, double threshold);

}  // namespace rocksieve::experiments
