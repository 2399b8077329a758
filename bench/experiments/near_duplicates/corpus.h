// SPDX-License-Identifier: Apache-2.0
// Sets of real data: what Debian's packages say of themselves, and which files they have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

// 1 for two empty sets, as for equal ones.
double JaccardOf(const ElementSet& a, const ElementSet& b);

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

AllPairs CompareAllPairs(const Corpus& corpus);

}  // namespace rocksieve::experiments
