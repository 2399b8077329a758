// SPDX-License-Identifier: Apache-2.0
// Sets of real data, what Debian's packages say of themselves and which files they have; and
// searches for similar pairs of them by MinHash and LSH, under several seeds, with both kinds of
// signatures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rocksieve/estimate/lsh_index.h>

namespace rocksieve::experiments {

// Numbers that stand for words, shingles, names: equal if those are equal. In order, each once.
using ElementSet = std::vector<uint32_t>;

struct Corpus {
  std::string name;   // short
  std::string about;  // what the sets are, for people
  std::vector<std::string> titles;
  std::vector<ElementSet> sets;  // as many, none of fewer than kLeastElements
};

inline constexpr size_t kLeastElements = 5;

// The descriptions of the installed packages, as sets of runs of three words.
Corpus InstalledDescriptions(const std::string& directory);

// The names, without folders, of the files that each installed package has.
Corpus InstalledFiles();

// Of all packages that apt knows of, the lines that describe them, as sets of runs of five bytes;
// every n-th, so that there are at most most_sets. Only those installed, if apt has no lists.
Corpus AvailableSummaries(const std::string& directory, size_t most_sets);

struct SimilarPair {
  uint32_t a = 0, b = 0;  // a < b
  double similarity = 0;  // Jaccard's
};

// Pairs below are counted only.
inline constexpr double kLeastListedSimilarity = 0.2;

// All pairs of a corpus, compared exactly: the truth.
struct AllPairs {
  uint64_t compared = 0;
  double cpu_seconds = 0;
  // Those of at least kLeastListedSimilarity, in order of a, then b.
  std::vector<SimilarPair> listed;
  // Of the others, by thousandths of similarity, rounded down.
  std::array<uint64_t, 201> unlisted{};
};

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
