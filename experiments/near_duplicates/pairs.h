// All pairs of a corpus, compared exactly: the truth.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "experiments/near_duplicates/corpus.h"

namespace rocksieve::experiments {

struct SimilarPair {
  uint32_t a = 0, b = 0;  // a < b
  double similarity = 0;  // Jaccard's
};

// Pairs below are counted only.
inline constexpr double kLeastListedSimilarity = 0.2;

struct AllPairs {
  uint64_t compared = 0;
  double cpu_seconds = 0;
  // Those of at least kLeastListedSimilarity, in order of a, then b.
  std::vector<SimilarPair> listed;
  // Of the others, by thousandths of similarity, rounded down.
  std::array<uint64_t, 201> unlisted{};
};

AllPairs CompareAllPairs(const Corpus& corpus);

}  // namespace rocksieve::experiments
