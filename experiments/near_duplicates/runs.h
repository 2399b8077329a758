// Searches in a corpus under several seeds, with both kinds of signatures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/near_duplicates/search.h"

namespace rocksieve::experiments {

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
